/**
 * The Materialize half of `validate`: the relation as it is, and a SUBSCRIBE like the sink's own that is ended at its
 * first sign of life. Only the latter shows a missing SELECT privilege, a cluster without replicas, and history that is
 * gone at the time where the sink would resume.
 */
import type { SinkDefinition } from '../definition/definitions.ts';
import { type SinkError, asSinkError } from '../errors.ts';
import type { Relation } from '../relation/relation.ts';
import type { Subscription } from '../sink/ports.ts';
import { type Frontier, formatFrontier } from '../time/frontier.ts';
import { type World, sourceOf } from './assemble.ts';
import { type Findings, counted } from './findings.ts';

const FIRST_ANSWER_MS = 15_000;

/** null when the relation can't be described; why is then among the findings. */
export async function describeSource(definition: SinkDefinition, world: World, findings: Findings): Promise<Relation | null> {
  const source = sourceOf(definition, world);
  try {
    const relation = await source.discover();
    const name = `${relation.database}.${relation.schema}.${relation.name}`;
    findings.good('relation', `${name} is a ${relation.kind.replaceAll('-', ' ')} with ${counted(relation.columns.length, 'column')}`);
    return relation;
  } catch (thrown) {
    findings.bad('relation', asSinkError(thrown, 'invariant-broken', 'reading the relation'));
    return null;
  } finally {
    await source.close();
  }
}

type FirstAnswer = 'answered' | 'silent' | SinkError;

/** Subscribes where the sink would; `resumeAt` null: at a time of the server's choice, without the snapshot's rows. */
export async function checkReading(
  definition: SinkDefinition, relation: Relation, resumeAt: Frontier | null, world: World, findings: Findings,
): Promise<void> {
  const [frontier] = resumeAt ?? [];
  if (resumeAt !== null && frontier === undefined) {
    findings.good('reading', 'the input is complete and in the table: there is nothing left to read');
    return;
  }
  const asOf = frontier === undefined ? null : frontier === 0n ? 0n : frontier - 1n;
  const answer = await firstAnswer(definition, relation, asOf, world);
  const where = resumeAt === null ? '' : ` at frontier ${formatFrontier(resumeAt)}`;
  if (answer === 'answered') findings.good('reading', `SUBSCRIBE answers${where}`);
  else if (answer === 'silent') findings.note('reading', `SUBSCRIBE did not answer${where} within ${FIRST_ANSWER_MS / 1000} s`);
  else findings.bad('reading', answer);
}

async function firstAnswer(definition: SinkDefinition, relation: Relation, asOf: bigint | null, world: World): Promise<FirstAnswer> {
  const source = sourceOf(definition, world);
  const first = Promise.withResolvers<FirstAnswer>();
  const cancel = world.clock.after(FIRST_ANSWER_MS, () => first.resolve('silent'));
  let subscription: Subscription | null = null;
  try {
    const request = { relation, cluster: definition.cluster, asOf, snapshot: false, keyColumns: [], slices: 1 };
    subscription = await source.subscribe(request, (event) => {
      if (event.kind === 'failed') first.resolve(event.error);
      else if (event.kind !== 'notice') first.resolve('answered');
    });
    return await first.promise;
  } catch (thrown) {
    return asSinkError(thrown, 'source-protocol', 'starting the SUBSCRIBE');
  } finally {
    cancel();
    await subscription?.close();
    await source.close();
  }
}
