import { setTimeout as delay } from 'node:timers/promises';
import { expect, test, type TestContext } from 'vitest';
import type { Sql } from '../../src/store/database.ts';
import { openDatabase } from '../../src/store/pool.ts';
import { cancelMessage, type StoreAnswer, storeMessages } from '../../src/store/write.ts';
import { faultRounds, faultSeeds, faultTimeoutMs } from '../support/fault-scale.ts';
import { seededRandom } from '../support/random.ts';
import { numbered, openStage } from '../support/stage.ts';
import { untilDone } from '../support/until-done.ts';

// Without workflows of their own, so that the lane and the cancels meet at the due time itself.
const timeouts = numbered('timeouts', { waits: 'lane' });
const messages = faultRounds(5_000);
const perSecond = 500;
const aroundMs = 50;
/** Every so many-th message is left alone: its delivery shows how late the relay is on this machine just now. */
const leaveEvery = 20;

test.for(faultSeeds(22))(
  `I5 F22: ${messages} cancels within 50 ms of the due times, from two clients, contradict nothing that was delivered (seed %i)`,
  { timeout: faultTimeoutMs(60_000) },
  async (seed, context) => {
    const random = seededRandom(seed);
    const stage = await openStage(context, { topics: [timeouts] });
    // A process of its own, so that neither waits for the other's event loop.
    await stage.relayProcess();
    const clients = [1, 2].map(() => openDatabase({ url: stage.url, connections: 8 }));
    for (const client of clients) context.onTestFinished(() => client.close());
    const dueInMs = Array.from({ length: messages }, (_, n) => 3_000 + (n * 1_000) / perSecond);
    const storedAt = performance.now();
    const stored = await storeMessages(
      stage.database,
      timeouts.name,
      dueInMs.map((afterMs, n) => ({ payload: JSON.stringify({ n }), key: `k${n % 64}`, afterMs })),
    );
    expect(performance.now() - storedAt, 'stored before the first is due').toBeLessThan(2_900);

    const lateness = await watchLateness(stage.database, context);
    const answers = new Map<string, string[]>();
    const cancelOne = async ({ id, dueAt }: StoreAnswer, n: number): Promise<void> => {
      const client = clients[n % 2] ?? stage.database;
      const aimedAt = (dueAt?.getTime() ?? 0) + (random.next() * 2 - 1) * aroundMs;
      // Every tenth is canceled by both at once.
      const both = n % 10 === 0 ? clients : [client];
      await delay(Math.max(0, aimedAt - Date.now()));
      await delay(Math.max(0, aimedAt + lateness.ms - Date.now()));
      answers.set(id, await Promise.all(both.map((each) => cancelMessage(each, timeouts.name, { id }))));
    };
    const canceledOnes = stored.filter((_, n) => n % leaveEvery !== 0);
    await Promise.all(canceledOnes.map(cancelOne));
    await untilDone(stage.database);

    const journal = await stage.journal();
    const delivered = new Set(journal.map(({ id }) => id));
    const expected = (id: string): string => (delivered.has(id) ? 'too-late' : 'canceled');
    const contradictions = [...answers].filter(([id, said]) => said.some((each) => each !== expected(id)));
    expect(contradictions).toEqual([]);
    expect(answers.size).toBe(canceledOnes.length);
    expect(journal).toHaveLength(delivered.size);
    // Both sides of the race must have happened, or the test proves nothing.
    const tooLate = canceledOnes.filter(({ id }) => delivered.has(id)).length;
    expect(tooLate).toBeGreaterThan(messages / 20);
    expect(messages - delivered.size).toBeGreaterThan(messages / 20);
  },
);

/** How late the message was that arrived last; cancels aim at deliveries, which a busy machine puts off. */
async function watchLateness(sql: Sql, { onTestFinished }: TestContext): Promise<{ readonly ms: number }> {
  const watch = { ms: 0 };
  const look = async (): Promise<void> => {
    const [last] = await sql.query<{ lateMs: number }>(
      `select extract(epoch from p.at - m.due_at)::float8 * 1000 as "lateMs"
       from published p join outbox.message m using (id) order by p.arrival desc limit 1`,
    );
    watch.ms = Math.max(0, last?.lateMs ?? 0);
  };
  await look();
  const looking = new AbortController();
  const looks = (async () => {
    while (!looking.signal.aborted) {
      await look();
      await delay(25, undefined, { signal: looking.signal }).catch(() => undefined);
    }
  })();
  onTestFinished(async () => {
    looking.abort();
    await looks;
  });
  return watch;
}
