/**
 * Every way in which the sink can stop, wait or start over, in one total table.
 *
 * disposition:
 *  - retry:   try the same thing again with back-off; nothing durable depends on it.
 *  - verify:  the outcome is unknown; load the table and decide again before anything else.
 *  - restart: drop what is in memory and resume from the table's frontier.
 *  - halt:    going on would be wrong; stop and say why until someone acts.
 */
export type Disposition = 'retry' | 'verify' | 'restart' | 'halt';

interface CodeEntry {
  readonly disposition: Disposition;
  /** What the operator does about it, one or two sentences. */
  readonly remedy: string;
}

export const ERROR_CODES = {
  // definition ------------------------------------------------------------------------------------
  'definition-invalid': { disposition: 'halt', remedy: 'Correct what the message names, in the definitions or on the command line.' },
  // source ----------------------------------------------------------------------------------------
  'source-unreachable': { disposition: 'retry', remedy: 'Check the address of Materialize, the network and TLS settings; the sink keeps trying.' },
  'source-login-refused': { disposition: 'halt', remedy: 'Check user and password of the Materialize connection: --materialize or MATERIALIZE_URL, the password in it or in PGPASSWORD.' },
  'source-tls-refused': { disposition: 'halt', remedy: 'Check sslmode, the CA file and the port: the server speaks no TLS there, or its certificate could not be verified.' },
  'relation-missing': { disposition: 'halt', remedy: 'Create the relation, or correct the name in FROM.' },
  'relation-dropped': { disposition: 'halt', remedy: 'The relation was dropped or replaced while it was read. Restore it, or drop the table and start the sink again on the new one.' },
  'relation-changed': { disposition: 'halt', remedy: 'The columns of the relation changed. Restart the sink: it compares them with the table and names what differs.' },
  'relation-unsupported': { disposition: 'halt', remedy: 'FROM takes a table, a source or a materialized view.' },
  'columns-unmappable': { disposition: 'halt', remedy: 'Cast the listed columns to a supported type, or leave them out of the relation.' },
  'key-invalid': { disposition: 'halt', remedy: 'Name key columns that the relation has and that are known to be unique, or say NOT ENFORCED where you know better.' },
  'cluster-missing': { disposition: 'halt', remedy: 'Create the cluster named by IN CLUSTER, or correct the name.' },
  'cluster-without-replicas': { disposition: 'retry', remedy: 'Give the cluster a replica: ALTER CLUSTER … SET (REPLICATION FACTOR 1).' },
  'permission-denied': { disposition: 'halt', remedy: 'Grant SELECT on the relation and USAGE on its schema and on the cluster.' },
  'history-compacted': { disposition: 'halt', remedy: 'Input compacted past resume upper: Materialize no longer holds the changes since the last commit. Set RETAIN HISTORY on the relation longer than any outage; drop the table and start again to take a new snapshot.' },
  'source-fell-behind': { disposition: 'restart', remedy: 'The sink did not read fast enough; it reconnects. Raise subscribe_max_buffered_bytes or the memory budget if this repeats.' },
  'source-result-too-large': { disposition: 'restart', remedy: 'One step of the relation exceeds max_result_size in Materialize; the sink reads it in more slices by itself. Where even 64 are too few, or no column can be hashed, it halts: raise max_result_size.' },
  'slices-out-of-step': { disposition: 'restart', remedy: 'Materialize compacted the time of the snapshot before each slice had begun; the sink starts over. If it repeats, set RETAIN HISTORY on the relation.' },
  'source-evaluation-error': { disposition: 'retry', remedy: 'The relation itself fails to evaluate. Correct the data or the view; the table stays at the last good frontier and the sink resumes by itself.' },
  'source-cancelled': { disposition: 'restart', remedy: 'The SUBSCRIBE was cancelled by someone; the sink starts it again.' },
  'source-protocol': { disposition: 'restart', remedy: 'The server sent something unexpected; the sink reconnects. Report it if it repeats.' },
  'source-disconnected': { disposition: 'restart', remedy: 'The connection to Materialize ended; the sink reconnects and resumes from the table.' },
  'snapshot-not-insert-only': { disposition: 'restart', remedy: 'The snapshot held retractions; the sink reads it again through its disk spill.' },
  // rows ------------------------------------------------------------------------------------------
  'row-not-representable': { disposition: 'halt', remedy: "Correct the value, cast the column to text, or choose ON ROW ERROR = 'null' for the sink." },
  'row-malformed': { disposition: 'halt', remedy: 'The value does not have the form that its type has on the wire. Report it with the Materialize version.' },
  // catalog ---------------------------------------------------------------------------------------
  'catalog-unreachable': { disposition: 'retry', remedy: 'Check the catalog URL and the network; the sink keeps trying.' },
  'catalog-unavailable': { disposition: 'retry', remedy: 'The catalog answers with server errors or asks to slow down; the sink keeps trying.' },
  'catalog-protocol': { disposition: 'retry', remedy: 'The catalog answered with something that is not the REST specification; check URL and proxies.' },
  'catalog-scope-missing': { disposition: 'halt', remedy: 'Set SCOPE on the connection.' },
  'catalog-unauthorized': { disposition: 'halt', remedy: 'Check URL, CREDENTIAL and SCOPE of the connection.' },
  'catalog-forbidden': { disposition: 'halt', remedy: 'Grant the principal what the message names.' },
  'catalog-vending-forbidden': { disposition: 'halt', remedy: "Grant the principal's catalog role CATALOG_MANAGE_CONTENT, or both TABLE_READ_DATA and TABLE_WRITE_DATA." },
  'catalog-storage-broken': { disposition: 'retry', remedy: 'Check the catalog logs: it cannot reach the object store, or its credentials cannot call AssumeRole.' },
  'warehouse-missing': { disposition: 'halt', remedy: 'Correct WAREHOUSE: the catalog does not know it.' },
  'namespace-missing': { disposition: 'halt', remedy: 'Create the namespace in the catalog, or let the principal see it.' },
  'table-missing': { disposition: 'halt', remedy: 'The table was dropped while the sink ran. Restart the sink to create it again from a new snapshot of the relation.' },
  'table-unsupported': { disposition: 'halt', remedy: 'Use an unpartitioned format version 2 table.' },
  'table-schema-mismatch': { disposition: 'halt', remedy: 'Schema evolution is not supported: restore the columns of the table, or drop the table and start the sink again.' },
  'table-location-unsupported': { disposition: 'halt', remedy: 'Use a table whose location is s3:// or file://.' },
  'catalog-refused': { disposition: 'halt', remedy: 'The catalog refused the request for the reason shown; remove it, then restart the sink.' },
  'commit-refused': { disposition: 'halt', remedy: 'The catalog refused the commit for the reason shown, and again after the table was loaded anew; remove it, then restart the sink.' },
  'commit-unknown': { disposition: 'verify', remedy: 'The answer of a commit was lost; the sink loads the table and decides from what it finds.' },
  // fencing and progress --------------------------------------------------------------------------
  'fenced': { disposition: 'halt', remedy: 'A newer version of this sink has taken over; stop this one.' },
  'foreign-sink': { disposition: 'halt', remedy: 'Another sink owns this table. Choose another table, or take it over on purpose with TAKE OVER = true.' },
  'foreign-writer': { disposition: 'halt', remedy: 'Another process writes this table. Stop it, then roll the table back to the last snapshot that carries mz-frontier.' },
  'frontier-inside': { disposition: 'restart', remedy: 'Another copy of this sink committed part of the span; this one resumes from the table.' },
  'frontier-beyond': { disposition: 'restart', remedy: 'Another copy of this sink is ahead; this one resumes from the table.' },
  'frontier-behind': { disposition: 'halt', remedy: 'The table was rolled back below what this sink had committed. Restart the sink to resume from the older state on purpose.' },
  'progress-missing': { disposition: 'halt', remedy: 'The table has history but no retained progress of the sink. Drop the table and start again, or restore a snapshot that carries mz-frontier.' },
  'progress-unreadable': { disposition: 'halt', remedy: 'The progress in the snapshot summary is not readable; roll the table back to a snapshot with a valid mz-frontier.' },
  'table-replaced': { disposition: 'halt', remedy: 'The table was dropped and created again under the same name while the sink ran; restart the sink to write the new table.' },
  'schema-changed': { disposition: 'halt', remedy: 'The table schema changed while the sink ran, and schema evolution is not supported. Restore it and restart the sink, or drop the table and start again.' },
  'spec-changed': { disposition: 'halt', remedy: 'The partition spec changed while the sink ran, and partitioned tables are not supported. Restore it and restart the sink.' },
  // storage ---------------------------------------------------------------------------------------
  'storage-credentials-missing': { disposition: 'halt', remedy: "Set ACCESS DELEGATION = 'vended-credentials' on the connection." },
  'storage-credentials-expired': { disposition: 'retry', remedy: 'The sink fetches new credentials and tries again.' },
  'storage-forbidden': { disposition: 'halt', remedy: 'The storage credentials may not write the table location; check what the catalog vends.' },
  'storage-unreachable': { disposition: 'retry', remedy: "The endpoint in the catalog's storageConfigInfo must be reachable from this machine." },
  'storage-unavailable': { disposition: 'retry', remedy: 'The object store answers with errors or asks to slow down; the sink keeps trying.' },
  'upload-lost': { disposition: 'restart', remedy: 'The object store dropped an upload in parts before it was complete; the sink starts over from the table. If it repeats, look for a rule of the bucket that aborts uploads early.' },
  'storage-object-missing': { disposition: 'halt', remedy: 'A file that the table refers to is gone from storage; restore it, or drop the table and start the sink again.' },
  'spill-failed': { disposition: 'retry', remedy: 'The spill directory is full or not writable; free space or choose another one.' },
  // own -------------------------------------------------------------------------------------------
  'encode-failed': { disposition: 'restart', remedy: 'Encoding failed; the sink starts over from the table. Report it if it repeats.' },
  'invariant-broken': { disposition: 'halt', remedy: 'A check inside the sink failed; nothing further was written. Please report it.' },
} as const satisfies Record<string, CodeEntry>;

export type ErrorCode = keyof typeof ERROR_CODES;

export interface SinkErrorDetail {
  /** The chain of causes in words, without secrets and without row values. */
  readonly cause?: string;
  /** Milliseconds to wait before the next try, where the server said so. */
  readonly retryAfterMs?: number;
  /** HTTP status, SQLSTATE or the system's code, where there is one. */
  readonly status?: string;
}

/**
 * The one error type of the sink: a stable code, what was seen and why it matters.
 * Messages carry names, positions, lengths, ids and frontiers; never a secret and never a row value.
 */
export class SinkError extends Error {
  readonly code: ErrorCode;
  readonly detail: SinkErrorDetail;

  constructor(code: ErrorCode, message: string, detail: SinkErrorDetail = {}) {
    super(message);
    this.name = 'SinkError';
    this.code = code;
    this.detail = detail;
  }

  get disposition(): Disposition {
    return ERROR_CODES[this.code].disposition;
  }

  get remedy(): string {
    return ERROR_CODES[this.code].remedy;
  }
}

/** Throws `invariant-broken` unless `condition` holds. Stays on in production. */
export function invariant(condition: boolean, message: string): asserts condition {
  if (!condition) throw new SinkError('invariant-broken', message);
}

/** Any thrown thing as a SinkError; what is not one already becomes `code` with its message as the cause. */
export function asSinkError(thrown: unknown, code: ErrorCode, what: string): SinkError {
  if (thrown instanceof SinkError) return thrown;
  const cause = thrown instanceof Error ? thrown.message : String(thrown);
  return new SinkError(code, `${what}: ${cause}`, { cause });
}
