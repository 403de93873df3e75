import { PGlite } from '@electric-sql/pglite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { message } from './backend-messages.ts';
import { run } from './flat-events.ts';

const database = new PGlite();
beforeAll(() => database.waitReady);
afterAll(() => database.close());

/** What a real PostgreSQL sends for a simple query, byte for byte. */
const answerOf = async (sql: string): Promise<Uint8Array> => database.execProtocolRaw(message('Q', `${sql}\0`));

// The framing, the escapes and the order of messages are PostgreSQL's own here, not a test's idea of them.
describe('GIVEN a real PostgreSQL that answers COPY TO STDOUT', () => {
  it('WHEN its rows look like those of SUBSCRIBE THEN every row comes out as it was', async () => {
    const sql = `COPY (
      SELECT 1700000000000::numeric, i = 0, CASE WHEN i = 0 THEN NULL ELSE -i END::int8,
        CASE WHEN i = 0 THEN NULL ELSE i END, CASE WHEN i = 0 THEN NULL ELSE E'a\\tb\\nc\\\\' || i END
      FROM generate_series(0, 2000) AS g(i)) TO STDOUT`;
    const { events } = run([await answerOf(sql)], 2);
    expect(events).toHaveLength(2002);
    expect(events[0]).toEqual({ kind: 'progress', frontier: [1700000000000n] });
    expect(events[7]).toMatchObject({ kind: 'row', time: 1700000000000n, diff: -7n, text: '7\ta\\tb\\nc\\\\7' });
    expect(events.at(-1)).toEqual({ kind: 'closed' });
  });

  it('WHEN a row fails to evaluate THEN that ends it by name, with the value masked', async () => {
    const sql = "COPY (SELECT 5::numeric, false, 1::int8, (ARRAY['1', 's3cret'])[i]::int FROM generate_series(1, 2) AS g(i)) TO STDOUT";
    const last = run([await answerOf(sql)], 1).events.at(-1);
    if (last?.kind !== 'failed') throw new Error('it did not fail');
    expect(last.error.code).toBe('source-evaluation-error');
    expect(last.error.detail.status).toBe('22P02');
    expect(last.error.message).not.toContain('s3cret');
  });

  it('WHEN the query is no COPY THEN that is source-protocol', async () => {
    const last = run([await answerOf('SELECT 1')], 1).events.at(-1);
    expect(last?.kind === 'failed' ? last.error.code : last?.kind).toBe('source-protocol');
  });
});
