import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { openDatabase } from '../../src/store/pool.ts';
import { cancelMessage, storeMessages } from '../../src/store/write.ts';
import { laneBench } from '../support/lane-bench.ts';
import { startTestRelay } from '../support/test-relay.ts';
import { until } from '../support/until.ts';

const messages = 500;
/** Every so many-th is left alone: its delivery shows how late the relay is just now. */
const leaveEvery = 20;

// Where a workflow waits it may be late by the grace of the sweep, so cancels go on for that time.
test.each([
  ['lane', 50],
  ['workflow', 250],
] as const)(
  'I5 of 500 messages canceled at their due times, each is either canceled or published (waits: %s)',
  async (waits, latestMs) => {
    const bench = await laneBench({ waits });
    const business = openDatabase({ url: bench.url, connections: 8 });
    const relay = await startTestRelay(bench);
    try {
      // Due within one second, 1.5 s from now, so that all are stored before the first is due.
      const dueInMs = Array.from({ length: messages }, (_, n) => 1_500 + n * 2);
      const stored = await storeMessages(
        business,
        bench.topic,
        dueInMs.map((afterMs, n) => ({ payload: JSON.stringify(n), key: `k${n % 20}`, afterMs })),
      );
      const answers = new Map<string, string>();
      const dueAt = new Map(stored.map(({ id, dueAt: due }) => [id, due?.getTime() ?? 0]));
      // What a busy machine delivers late is canceled later too, or the cancels would meet no delivery.
      const lateMs = (): number => {
        const last = bench.broker.log.at(-1);
        return last === undefined ? 0 : Math.max(0, last.storedAt - (dueAt.get(last.id) ?? 0));
      };
      const canceledOnes = stored.filter((_, n) => n % leaveEvery !== 0);
      await Promise.all(
        canceledOnes.map(async ({ id }, n) => {
          // From 50 ms before the due time on, spread by a step that shares no factor with the width.
          const cancelAt = (dueAt.get(id) ?? 0) - 50 + ((n * 37) % (latestMs + 51));
          await delay(Math.max(0, cancelAt - Date.now()));
          await delay(Math.max(0, cancelAt + lateMs() - Date.now()));
          answers.set(id, await cancelMessage(business, bench.topic, { id }));
        }),
      );
      const open = `select from outbox.message_view where state not in ('published', 'canceled')`;
      await until(async () => (await bench.database.query(open)).length === 0);

      const published = new Set(bench.broker.log.map(({ id }) => id));
      const canceled = [...answers].filter(([, answer]) => answer === 'canceled').map(([id]) => id);
      const tooLate = [...answers].filter(([, answer]) => answer === 'too-late').map(([id]) => id);
      expect(canceled.length + tooLate.length).toBe(canceledOnes.length);
      expect(canceled.filter((id) => published.has(id))).toEqual([]);
      expect(tooLate.filter((id) => !published.has(id))).toEqual([]);
      expect(bench.broker.log.length, 'no repeats').toBe(published.size);
      // Both sides of the race must have happened, or the test proves nothing.
      expect(canceled.length).toBeGreaterThan(20);
      expect(tooLate.length).toBeGreaterThan(20);
    } finally {
      await relay.stop();
      await business.close();
      await bench.drop();
    }
  },
);
