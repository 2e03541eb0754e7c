import { rest } from '../core/rest.ts';
import { Drain } from './drain.ts';
import type { DrainAnswer, DrainInput } from './drain-input.ts';
import { LaneLease } from './lane-lease.ts';

/** Between tries to acquire a lane while another owner's lease is valid. */
const acquireEveryMs = 250;

/**
 * Empties one lane in order, in batches, until it is quiet, its time is over, or the signal fires.
 *
 * Owns the lane by a lease and frees it on every return. Rejects only if the database cannot be reached or refuses
 * a statement; the broker's answers are written to the rows.
 */
export async function drainLane(input: DrainInput): Promise<DrainAnswer> {
  const lease = new LaneLease(input);
  // 200 lanes that began and ended together waited for each other's workflows, which delayed messages by 0.2 s.
  const deadline = performance.now() + input.timings.drainTimeoutMs * (1 - Math.random() / 2);
  const { standIn = false } = input;
  for (;;) {
    const acquired = await lease.acquire();
    if (acquired !== undefined) {
      input.report({ type: 'lane-acquired', lapsed: acquired.lapsed, standIn, ...input.lane });
      return new Drain(input, lease, deadline, acquired).run();
    }
    if (standIn) return 'taken';
    if (input.signal.aborted || performance.now() > deadline) return 'more';
    input.progress();
    await rest(acquireEveryMs, input.signal);
  }
}
