import { type Duration, durationMs, longestDurationMs } from '../core/duration.ts';
import { OutboxError } from '../core/errors.ts';
import { runQueryOf, type Waker, wake } from '../outbox/wake.ts';
import type { Sql } from '../store/database/database.ts';
import { skipClock } from '../store/installation/skip-clock.ts';

/**
 * Skips time in the database of a test: whatever the outbox would do within `by` is due at once. Relays send the messages
 * that waited for it, consumers try parked messages again, and retention deletes what has become old; all of them as ever,
 * by their own code. It needs neither Temporal's test server nor another relay.
 *
 * It replaces the SQL function `outbox.clock()`, by which the outbox decides what is due, and every call adds to those before. There
 * is no way back, so the database must be the test's own; `temporal-outbox servers -- command` starts an empty one. `Date`
 * in your code, `now()` in your statements and the times of Temporal's UI stay as they are.
 *
 * @param through a client, a pool, or a function that runs one statement, as for `wake`. Its role must own the schema
 * @param by more than 0, at most 36,500 days
 * @throws OutboxError `OUTBOX_OPTION_INVALID`; and the database's error if it does not allow the change
 * @example
 * await placeOrder(prisma, 'lamp'); // sends `orderTimeout` with `after: '15m'`
 * await skipTime(prisma, '15m'); // its consumer gets it in less than a second
 */
export async function skipTime(through: Waker, by: Duration): Promise<void> {
  const run = runQueryOf(through, 'skipTime');
  const byMs = durationMs(by);
  if (byMs === undefined || byMs <= 0 || byMs > longestDurationMs) {
    throw new OutboxError(
      'OUTBOX_OPTION_INVALID',
      'skipTime takes a duration of more than 0 and at most 36,500 days, such as "15m".',
      { details: { option: 'by', value: by } },
    );
  }
  const sql: Sql = {
    query: async (text, values = []) => {
      await run(text, [...values]);
      return [];
    },
  };
  await skipClock(sql, byMs);
  wake(through);
}
