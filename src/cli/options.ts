/** The command line: what can be said, what it means, and what is assumed when nothing is said. */
import { parseArgs } from 'node:util';
import { Secret } from '../definition/secret.ts';
import { addressProblem } from '../io/materialize-connect.ts';
import type { LogFormat } from '../observe/log.ts';
import type { LogLevel } from '../sink/ports.ts';

export interface CommandOptions {
  readonly command: 'run' | 'validate';
  readonly definitionsPath: string;
  readonly materializeUrl: string;
  readonly memoryBudgetBytes: number;
  readonly spillDir: string;
  readonly logFormat: LogFormat;
  readonly logLevel: LogLevel;
  readonly encodeWorkers: number | null;
}

export type ParsedCommand =
  | { readonly kind: 'command'; readonly options: CommandOptions }
  | { readonly kind: 'help' }
  | { readonly kind: 'version' }
  | { readonly kind: 'usage'; readonly message: string };

const MEMORY_BUDGET_DEFAULT = '192MiB';
const MEMORY_BUDGET_BYTES_MIN = 16 * 1024 * 1024;

export const USAGE = `Usage: mz-iceberg-sink <command> <sinks.sql> [options]

Commands
  run        run every sink of the file until stopped
  validate   check the file, Materialize, the catalog and the storage; change nothing in the catalog

Options
  --materialize URL      where Materialize is, e.g. postgres://user@host:6875/materialize?sslmode=verify-full
                         (default: environment variable MATERIALIZE_URL)
  --memory-budget SIZE   bytes that rows may take in memory before they go to disk, for all sinks (default: ${MEMORY_BUDGET_DEFAULT})
  --spill-dir DIR        the folder on local disk that they go to (default: mz-iceberg-sink in the system's temporary folder)
  --encode-workers N     threads that encode Parquet, one more while small sinks work beside a huge one
                         (default: one less than the processors, at least 1)
  --log-format FORMAT    text or json (default: text)
  --log-level LEVEL      debug, info, warn or error (default: info)
  --help, --version
`;

export function parseCommand(args: readonly string[], env: Readonly<Record<string, string | undefined>>, tmpDir: string): ParsedCommand {
  let parsed;
  try {
    parsed = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        'materialize': { type: 'string' },
        'memory-budget': { type: 'string' },
        'spill-dir': { type: 'string' },
        'encode-workers': { type: 'string' },
        'log-format': { type: 'string' },
        'log-level': { type: 'string' },
        'help': { type: 'boolean', short: 'h' },
        'version': { type: 'boolean' },
      },
    });
  } catch (thrown) {
    return usage(thrown instanceof Error ? firstSentence(thrown.message) : 'the options can not be read');
  }
  const { values, positionals } = parsed;
  if (values.help === true) return { kind: 'help' };
  if (values.version === true) return { kind: 'version' };
  const [command, definitionsPath, ...rest] = positionals;
  if (command !== 'run' && command !== 'validate') return usage(`unknown command ${shownWord(command)}`);
  if (definitionsPath === undefined || rest.length > 0) return usage(`${command} takes one file of definitions`);
  const materializeUrl = values.materialize ?? env['MATERIALIZE_URL'];
  if (materializeUrl === undefined || materializeUrl === '') return usage('say where Materialize is: --materialize or MATERIALIZE_URL');
  const wrong = addressProblem(new Secret(materializeUrl));
  if (wrong !== null) return usage(`--materialize or MATERIALIZE_URL: ${wrong}`);
  const memoryBudgetBytes = parseSize(values['memory-budget'] ?? MEMORY_BUDGET_DEFAULT);
  if (memoryBudgetBytes === null || memoryBudgetBytes < MEMORY_BUDGET_BYTES_MIN) {
    return usage('--memory-budget takes a size of at least 16MiB, such as 256MiB');
  }
  const logFormat = values['log-format'] ?? 'text';
  if (logFormat !== 'text' && logFormat !== 'json') return usage('--log-format is text or json');
  const logLevel = values['log-level'] ?? 'info';
  if (logLevel !== 'debug' && logLevel !== 'info' && logLevel !== 'warn' && logLevel !== 'error') {
    return usage('--log-level is debug, info, warn or error');
  }
  const encodeWorkers = values['encode-workers'] === undefined ? null : Number(values['encode-workers']);
  if (encodeWorkers !== null && !(Number.isInteger(encodeWorkers) && encodeWorkers >= 1 && encodeWorkers <= 64)) {
    return usage('--encode-workers takes a number from 1 to 64');
  }
  const spillDir = values['spill-dir'] ?? `${tmpDir}/mz-iceberg-sink`;
  return {
    kind: 'command',
    options: { command, definitionsPath, materializeUrl, memoryBudgetBytes, spillDir, logFormat, logLevel, encodeWorkers },
  };
}

/** Node goes on to explain how to pass a word that begins with a dash. */
function firstSentence(message: string): string {
  return message.split('. ', 1)[0] ?? message;
}

/** An address with a password may stand where the command should: only a plain word is repeated. */
function shownWord(word: string | undefined): string {
  if (word === undefined) return '(none given)';
  return /^[\w-]{1,32}$/.test(word) ? `'${word}'` : '(not a word)';
}

function usage(message: string): ParsedCommand {
  return { kind: 'usage', message };
}

const UNITS: Readonly<Record<string, number>> = {
  '': 1, b: 1, kb: 1e3, mb: 1e6, gb: 1e9, kib: 1024, mib: 1024 ** 2, gib: 1024 ** 3,
};

/** `256MiB`, `1GB`, `1048576` → bytes; null when it is not a size. */
export function parseSize(text: string): number | null {
  const match = /^(\d+)\s*([kmg]?i?b)?$/i.exec(text.trim());
  const unit = UNITS[(match?.[2] ?? '').toLowerCase()];
  return match === null || unit === undefined ? null : Number(match[1]) * unit;
}
