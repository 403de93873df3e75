import { describe, expect, test } from 'vitest';
import { type Answer, jsonAnswer } from '../../../src/embedded/catalog/answer.ts';
import { createIdempotentAnswers } from '../../../src/embedded/catalog/idempotency.ts';
import { type CatalogRequest, parseRequest } from '../../../src/embedded/catalog/request.ts';

const LIFETIME_MS = 1000;
const KEPT_BYTES_MAX = 250;

function commit(key: string): CatalogRequest {
  return parseRequest('POST', '/tables/t', { 'idempotency-key': key }, '{}');
}

/** Each answer holds 100 characters, as if a table's whole history stood in it. */
function catalog() {
  let carriedOut = 0;
  let nowMs = 0;
  const answers = createIdempotentAnswers(LIFETIME_MS, () => nowMs, KEPT_BYTES_MAX);
  const work = (): Promise<Answer> => {
    carriedOut++;
    return Promise.resolve(jsonAnswer(200, { count: BigInt(carriedOut), history: 'h'.repeat(80) }));
  };
  return {
    send: (request: CatalogRequest) => answers.once('root', request, work),
    carriedOut: () => carriedOut,
    pass: (ms: number) => { nowMs += ms; },
  };
}

describe('GIVEN a catalog that keeps answers of 250 characters in all', () => {
  test('WHEN the newest request comes again THEN it gets its answer and is not carried out again', async () => {
    const { send, carriedOut } = catalog();
    for (const key of ['a', 'b', 'c', 'd']) await send(commit(key));
    const again = await send(commit('d'));
    expect(again.status).toBe(200);
    expect(again.body).toContain('"count":4');
    expect(carriedOut()).toBe(4);
  });

  test('WHEN one comes again whose answer had to go THEN its outcome is said to be unknown, and it is not carried out again', async () => {
    const { send, carriedOut } = catalog();
    for (const key of ['a', 'b', 'c', 'd']) await send(commit(key));
    const again = await send(commit('a'));
    expect(again.status).toBe(500);
    expect(again.body).toContain('CommitStateUnknownException');
    expect(carriedOut()).toBe(4);
  });

  test('WHEN the lifetime is over THEN the room of the old answers is free again', async () => {
    const { send, carriedOut, pass } = catalog();
    await send(commit('a'));
    await send(commit('b'));
    pass(LIFETIME_MS);
    await send(commit('c'));
    await send(commit('d'));
    expect((await send(commit('c'))).status).toBe(200);
    expect((await send(commit('d'))).status).toBe(200);
    expect(carriedOut()).toBe(4);
  });

  test('WHEN one answer alone is larger THEN it is kept until the next one', async () => {
    const answers = createIdempotentAnswers(LIFETIME_MS, () => 0, 10);
    const given = jsonAnswer(200, { history: 'h'.repeat(80) });
    await answers.once('root', commit('a'), () => Promise.resolve(given));
    expect(await answers.once('root', commit('a'), () => Promise.reject(new Error('carried out again')))).toBe(given);
  });
});
