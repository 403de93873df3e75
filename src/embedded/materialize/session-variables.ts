/**
 * The variables of a session: SET, SHOW, RESET, start-up parameters and what is reported by ParameterStatus.
 * In: names in any case and text values. Out: texts. Nothing here is checked beyond what clients can observe.
 */
export interface SessionVariables {
  get(name: string): string | null;
  set(name: string, value: string): void;
  reset(name: string): void;
  resetAll(): void;
  entries(): readonly (readonly [name: string, value: string])[];
}

/** Default values under the names as they are reported. */
const DEFAULTS: readonly (readonly [string, string])[] = [
  ['application_name', ''],
  ['auto_route_catalog_queries', 'on'],
  ['client_encoding', 'UTF8'],
  ['client_min_messages', 'notice'],
  ['cluster', 'quickstart'],
  ['cluster_replica', ''],
  ['database', 'materialize'],
  ['DateStyle', 'ISO, MDY'],
  ['emit_timestamp_notice', 'off'],
  ['extra_float_digits', '3'],
  ['idle_in_transaction_session_timeout', '2 min'],
  ['integer_datetimes', 'on'],
  ['IntervalStyle', 'postgres'],
  ['max_query_result_size', '1GB'],
  ['mz_version', 'v26.5.0 (0000000000)'],
  ['search_path', 'public'],
  ['server_version', '9.5.0'],
  ['server_version_num', '90500'],
  ['sql_safe_updates', 'off'],
  ['standard_conforming_strings', 'on'],
  ['statement_timeout', '60 s'],
  ['TimeZone', 'UTC'],
  ['transaction_isolation', 'strict serializable'],
  ['welcome_message', 'on'],
];

/** Reported at start-up and on every change. */
export const REPORTED_VARIABLES: readonly string[] = [
  'application_name', 'client_encoding', 'DateStyle', 'integer_datetimes', 'server_version',
  'standard_conforming_strings', 'TimeZone', 'IntervalStyle', 'cluster', 'cluster_replica', 'database',
  'search_path', 'mz_version',
];

const READ_ONLY: ReadonlySet<string> = new Set([
  'server_version', 'server_version_num', 'integer_datetimes', 'mz_version',
]);

const ALIASES: ReadonlyMap<string, string> = new Map([
  ['schema', 'search_path'],
  ['timezone', 'TimeZone'],
]);

const CANONICAL: ReadonlyMap<string, string> = new Map(DEFAULTS.map(([name]) => [name.toLowerCase(), name]));

/** The name as it is reported; null for a variable that is not known. */
export function canonicalVariable(name: string): string | null {
  const lower = name.toLowerCase();
  return ALIASES.get(lower) ?? CANONICAL.get(lower) ?? null;
}

export function isReadOnlyVariable(canonical: string): boolean {
  return READ_ONLY.has(canonical);
}

/** Variables of one session; `startup` values are what RESET goes back to. */
export function createSessionVariables(startup: ReadonlyMap<string, string>): SessionVariables {
  const initial = new Map<string, string>(DEFAULTS);
  for (const [name, value] of startup) {
    const canonical = canonicalVariable(name);
    if (canonical !== null && !isReadOnlyVariable(canonical)) initial.set(canonical, value);
  }
  const values = new Map(initial);
  return {
    get: (name) => values.get(canonicalVariable(name) ?? '') ?? null,
    set(name, value) {
      const canonical = canonicalVariable(name);
      if (canonical !== null) values.set(canonical, value);
    },
    reset(name) {
      const canonical = canonicalVariable(name);
      if (canonical !== null) values.set(canonical, initial.get(canonical) ?? '');
    },
    resetAll() {
      for (const [name, value] of initial) values.set(name, value);
    },
    entries: () => [...values],
  };
}

/** Reads the start-up parameter `options`: `--name=value`, `-c name=value`, with `\ ` for a space inside. */
export function parseStartupOptions(options: string): [name: string, value: string][] {
  const words = [...options.matchAll(/(?:\\.|[^\s\\])+/g)].map((match) => match[0].replaceAll(/\\(.)/g, '$1'));
  const settings: [string, string][] = [];
  for (let i = 0; i < words.length; i++) {
    let word = words[i] ?? '';
    if (word === '-c') word = words[++i] ?? '';
    else if (word.startsWith('--')) word = word.slice(2);
    else if (word.startsWith('-c')) word = word.slice(2);
    const equals = word.indexOf('=');
    if (equals > 0) settings.push([word.slice(0, equals).replaceAll('-', '_'), word.slice(equals + 1)]);
  }
  return settings;
}
