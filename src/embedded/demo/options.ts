/** The demo's command line. */
import { parseArgs } from 'node:util';

export interface DemoOptions {
  /** How long the load runs; null: until somebody ends it. */
  readonly loadMs: number | null;
}

export const USAGE = `Usage: npm run demo -- [options]

  --seconds N      how long the load runs before the check (default: 25)
  --keep-running   run until Ctrl-C; the check follows then
  --help
`;

const DEFAULT_SECONDS = '25';
const SECONDS_MAX = 86_400;

/** null: help was asked for. Throws an Error that says what can't be understood. */
export function parseDemoOptions(args: readonly string[]): DemoOptions | null {
  const { values } = parseArgs({
    args: [...args],
    options: {
      'seconds': { type: 'string', default: DEFAULT_SECONDS },
      'keep-running': { type: 'boolean', default: false },
      'help': { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return null;
  const seconds = Number(values.seconds);
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > SECONDS_MAX) {
    throw new Error(`--seconds takes a whole number from 1 to ${SECONDS_MAX}`);
  }
  return { loadMs: values['keep-running'] ? null : seconds * 1000 };
}
