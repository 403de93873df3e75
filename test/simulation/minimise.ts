/** A failing scenario with as much left out as possible while it still fails in the same way. */
import { type FaultKind, LARGE_BUDGET, type Scenario } from './scenario.ts';
import { simulate } from './simulate.ts';

/** Runs allowed: a failure is wanted today. */
const TRIES_MAX = 400;

export async function minimised(scenario: Scenario, failure: string): Promise<Scenario> {
  const checker = failure.slice(0, failure.indexOf(':'));
  let best = scenario;
  let tries = 0;
  const stillFails = async (candidate: Scenario): Promise<boolean> => {
    if (tries++ > TRIES_MAX) return false;
    const { violation } = await simulate(candidate, false);
    return violation?.checker === checker;
  };
  for (let improved = true; improved;) {
    improved = false;
    for (const candidate of smaller(best)) {
      if (!(await stillFails(candidate))) continue;
      best = candidate;
      improved = true;
      break;
    }
  }
  return best;
}

function* smaller(scenario: Scenario): Generator<Scenario> {
  const { events, rates, history } = scenario;
  for (let index = 0; index < events.length; index++) yield { ...scenario, events: events.toSpliced(index, 1) };
  for (const kind of Object.keys(rates) as FaultKind[]) {
    const { [kind]: _, ...rest } = rates;
    yield { ...scenario, rates: rest };
  }
  if (scenario.evaluationErrors.length > 0) yield { ...scenario, evaluationErrors: [] };
  if (scenario.stepRowsMax !== null) yield { ...scenario, stepRowsMax: null };
  if (scenario.retainMs !== null) yield { ...scenario, retainMs: null };
  if (scenario.wire) yield { ...scenario, wire: false };
  if (scenario.collidingHashes) yield { ...scenario, collidingHashes: false };
  if (scenario.budgetBytes < LARGE_BUDGET) yield { ...scenario, budgetBytes: LARGE_BUDGET };
  if (scenario.values === 'numeric') {
    yield { ...scenario, values: 'text', history: { ...history, notANumberShare: null } };
  }
  if (scenario.rowsPerFile < 1_000) yield { ...scenario, rowsPerFile: 1_000 };
  if (history.hugeChanges > 0) yield { ...scenario, history: { ...history, hugeChanges: 0 } };
  if (history.initialRows > 1) {
    yield { ...scenario, history: { ...history, initialRows: Math.floor(history.initialRows / 2) } };
  }
  if (history.steps > 1) yield { ...scenario, history: { ...history, steps: Math.floor(history.steps / 2) } };
}
