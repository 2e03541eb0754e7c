import { reasonOf } from '../core/reason.ts';
import { rest } from '../core/rest.ts';
import { isConnectionFailure } from '../store/database/database.ts';
import { writeHold } from '../store/lane/lease.ts';
import { type Settlement, settle } from '../store/lane/settle.ts';
import type { DrainInput } from './drain-input.ts';
import type { LaneLease } from './lane-lease.ts';

/** Between tries while the database cannot be reached. */
export const reconnectEveryMs = 100;

/**
 * Settles a batch that the broker has. Giving up means sending the batch again, so the settle is retried: for half a lease
 * while the database cannot be reached, and until the end of the run if the database refuses it, which is shown as the
 * lane's hold.
 *
 * @returns `false` if the lane has another owner
 * @throws the last error of the database
 */
export async function settlePatiently(
  { database, lane, report, timings, progress }: DrainInput,
  lease: LaneLease,
  settlement: Settlement,
  { deadline, stop }: { readonly deadline: number; readonly stop: AbortSignal },
): Promise<boolean> {
  const startedAt = performance.now();
  let held = false;
  for (;;) {
    try {
      const settled = await settle(database, lane, settlement);
      if (held) await writeHold(database, lane, lease.owner, undefined);
      return settled;
    } catch (error) {
      report({ type: 'error', during: 'settle', error });
      if (isConnectionFailure(error)) {
        if (lease.staleSince(startedAt)) throw error;
        await rest(reconnectEveryMs);
        continue;
      }
      if (stop.aborted || performance.now() > deadline) throw error;
      held = true;
      await writeHold(database, lane, lease.owner, { scope: 'settle', reason: reasonOf(error) });
      await rest(timings.probeIntervalMs, stop);
      progress();
      await lease.renewIfOld();
    }
  }
}
