/**
 * Which named error an ErrorResponse of Materialize is. In: SQLSTATE, message, and where in the conversation it
 * came. Out: a SinkError.
 *
 * SQLSTATE alone is not enough: Materialize reports most of its own errors as XX000, and wordings have changed
 * between versions. So each rule gives both, old and new wordings side by side, and the first that matches wins.
 * What no rule knows falls back by phase to a code that tries again; only what is known to be hopeless halts.
 *
 * Messages of evaluation errors quote the row's own values (`invalid input syntax for type integer: "…"`); those
 * are masked, for values must not reach logs.
 */
import { type ErrorCode, SinkError } from '../errors.ts';

/** login: until the session is ready. query: catalog look-ups and SET. stream: from the SUBSCRIBE on. */
export type SourcePhase = 'login' | 'query' | 'stream';

export interface ServerError {
  /** '' when the server gave none. */
  readonly sqlState: string;
  readonly message: string;
}

interface Rule {
  readonly code: ErrorCode;
  readonly states?: RegExp;
  readonly message?: RegExp;
  readonly phases?: readonly SourcePhase[];
  readonly says: string;
}

/** Materialize's own sink words it like this; people search for the words. */
const COMPACTED = 'input compacted past resume upper (the AS OF of the SUBSCRIBE is no longer readable)';

/** A rule holds when every condition that it gives holds. */
const RULES: readonly Rule[] = [
  // Who may come in. An app password that expires mid-way ends the session; whether it is refused shows at login.
  { code: 'source-tls-refused', phases: ['login'], message: /TLS.*required|no pg_hba\.conf entry.*no encryption/i,
    says: 'Materialize takes only TLS connections' },
  { code: 'source-disconnected', phases: ['query', 'stream'], message: /authentication expired/i,
    says: 'the login expired while the session ran' },
  { code: 'source-login-refused', states: /^(28...|MZ010|MZ011)$/, says: 'Materialize refused the login' },
  { code: 'permission-denied', states: /^42501$/, says: 'the role lacks a privilege' },
  { code: 'permission-denied', message: /^permission denied for /i, says: 'the role lacks a privilege' },
  // History. Newer versions say 22000, older ones XX000 with the time.
  { code: 'history-compacted', message: /could not find a valid timestamp for the query/i,
    says: COMPACTED },
  { code: 'history-compacted', message: /Timestamp \(.*\) is not valid for all inputs/is,
    says: COMPACTED },
  // Replicas and clusters, before relations: both kinds of message say "was dropped" and "does not exist".
  { code: 'cluster-without-replicas', message: /has no replicas available/i, says: 'the cluster has no replica' },
  { code: 'cluster-without-replicas', message: /target replica failed or was dropped/i,
    says: 'the replica that the session is bound to is gone' },
  { code: 'cluster-missing', message: /cluster (replica )?['"].*['"] (was dropped|does not exist)/i,
    says: 'the cluster does not exist' },
  { code: 'cluster-missing', message: /unknown cluster/i, says: 'the cluster does not exist' },
  { code: 'relation-dropped', phases: ['stream'],
    message: /(relation|table|source|view|materialized view|schema|database|object) .* was dropped/is,
    says: 'the relation was dropped' },
  { code: 'relation-dropped', phases: ['stream'], message: /underlying .* was dropped/is,
    says: 'the relation was dropped' },
  { code: 'relation-missing', states: /^(42P01|3F000|3D000)$/, says: 'the relation does not exist' },
  { code: 'relation-missing', message: /unknown (catalog item|schema|database)/i, says: 'the relation does not exist' },
  { code: 'relation-changed', states: /^42703$/, says: 'a column of the relation does not exist' },
  { code: 'relation-changed', message: /^column .* does not exist/i, says: 'a column of the relation does not exist' },
  // Limits.
  { code: 'source-fell-behind', message: /SUBSCRIBE fell behind/i, says: 'the sink read too slowly' },
  { code: 'source-fell-behind', states: /^53200$/, phases: ['stream'], says: 'Materialize ran out of buffer' },
  { code: 'source-result-too-large', message: /result exceeds max size/i, says: 'one step exceeds max_result_size' },
  // Endings.
  { code: 'source-cancelled', states: /^57014$/, says: 'the statement was cancelled' },
  { code: 'source-cancelled', message: /canceling statement due to/i, says: 'the statement was cancelled' },
  { code: 'source-unreachable', phases: ['login'], states: /^(57P0.|53...)$/,
    says: 'Materialize takes no connection now' },
  { code: 'source-protocol', states: /^08P01$/, says: 'Materialize did not understand the sink' },
  { code: 'source-disconnected', states: /^(57P0.|08...|25P03)$/, says: 'Materialize ended the session' },
  { code: 'source-unreachable', states: /^53...$/, phases: ['query'], says: 'Materialize lacks resources' },
  // Neither of these is about the data: the plan or the statement does not fit the server.
  { code: 'source-protocol', states: /^(42601|0A000)$/, says: 'Materialize did not accept the statement' },
  { code: 'source-protocol', message: /^internal error/i, says: 'Materialize failed inside' },
  { code: 'source-evaluation-error', phases: ['stream'], states: /^(22...|XX...)$/,
    says: 'the relation fails to evaluate' },
];

const FALLBACK: Readonly<Record<SourcePhase, ErrorCode>> = {
  login: 'source-unreachable',
  query: 'source-protocol',
  stream: 'source-protocol',
};

/**
 * Materialize's messages have a line or two. The rules and the masking take time that grows with the square of the
 * length, so a server could stop the process with one message.
 */
const MAX_MESSAGE = 4096;

/** The named error of a server's error; `detail.status` is the SQLSTATE, `detail.cause` the server's words. */
export function classifyServerError(given: ServerError, phase: SourcePhase): SinkError {
  const error = { sqlState: given.sqlState.slice(0, 5), message: given.message.slice(0, MAX_MESSAGE) };
  const rule = RULES.find((candidate) => matches(candidate, error, phase));
  const code = rule?.code ?? FALLBACK[phase];
  const says = rule?.says ?? 'Materialize reported an error';
  // Names of relations, clusters and roles are wanted; where values may stand instead, nothing quoted is shown.
  const mayQuoteValues = phase === 'stream' && (code === 'source-evaluation-error' || code === 'source-protocol');
  const cause = mayQuoteValues ? maskValues(error.message) : error.message;
  const status = error.sqlState === '' ? {} : { status: error.sqlState };
  return new SinkError(code, `${says}: ${cause}`, { cause, ...status });
}

function matches(rule: Rule, error: ServerError, phase: SourcePhase): boolean {
  return (rule.phases === undefined || rule.phases.includes(phase))
    && (rule.states === undefined || rule.states.test(error.sqlState))
    && (rule.message === undefined || rule.message.test(error.message));
}

/** The message with quoted parts and numbers blanked: what is left says the kind of failure, not the value. */
export function maskValues(message: string): string {
  return message
    .replaceAll(/"(?:[^"\\]|\\.|"")*"?/g, '"…"')
    .replaceAll(/'(?:[^'\\]|\\.|'')*'?/g, "'…'")
    .replaceAll(/[-+]?\b\d[\w.+:-]*/g, '…');
}
