// @module-tag apart
import { expect, test } from 'vitest';
import type { Database } from '../../src/store/database/database.ts';
import { openDatabase } from '../../src/store/database/pool.ts';
import type { StoreAnswer } from '../../src/store/message/new-message.ts';
import { cancelMessage, storeMessages } from '../../src/store/message/write.ts';
import { faultRounds, faultSeeds, faultTimeoutMs } from '../support/faults/fault-scale.ts';
import { Aim } from '../support/fixtures/aim.ts';
import { seededRandom } from '../support/fixtures/random.ts';
import { numbered, openStage } from '../support/fixtures/stage.ts';
import { untilDone } from '../support/fixtures/until-done.ts';

// Without workflows of their own, so that the lane and the cancels meet at the due time itself.
const timeouts = numbered('timeouts', { timer: 'lane' });
const messages = faultRounds(2_000);
/** Cancels that are on their way at most. */
const atOnce = 16;
/** Half of what the machine cancels in a second, within these bounds: who cannot keep up comes too late every time. */
const perSecond = { least: 50, most: 500 };
const aroundMs = 50;

test.for(faultSeeds(22))(
  `I5 F22: ${messages} cancels within 50 ms of the due times, from two clients, never contradict what was delivered (seed %i)`,
  { tags: ['cancel-holds'], timeout: faultTimeoutMs(300_000) },
  async (seed, context) => {
    const random = seededRandom(seed);
    const stage = await openStage(context, { topics: [timeouts] });
    // A process of its own, so that neither waits for the other's event loop.
    await stage.relayProcess();
    const [first, second] = [1, 2].map(() => openDatabase({ url: stage.url, connections: atOnce }));
    if (first === undefined || second === undefined) throw new Error('Two clients are needed.');
    const clients = [first, second];
    for (const each of clients) context.onTestFinished(() => each.close());
    const cancelBy = (client: Database, id: string): Promise<string> =>
      cancelMessage(client, timeouts.name, { id });
    const store = (dueInMs: readonly number[]): Promise<readonly StoreAnswer[]> =>
      storeMessages(
        stage.database,
        timeouts.name,
        dueInMs.map((afterMs, n) => ({ payload: JSON.stringify({ n }), key: `k${n % 64}`, afterMs })),
      );
    const probed = await store(Array.from({ length: 200 }, () => 3_600_000));
    const beganAt = performance.now();
    await new Aim(0).shootAll(
      probed.map(({ id }) => ({ id, atMs: 0 })),
      atOnce,
      async ({ id }) => ((await cancelBy(first, id)) === 'canceled' ? 'too-early' : 'too-late'),
    );
    const speed = (probed.length * 1_000) / (performance.now() - beganAt);
    const rate = Math.max(perSecond.least, Math.min(perSecond.most, speed / 2));

    const stored = await store(Array.from({ length: messages }, (_, n) => 3_000 + (n * 1_000) / rate));
    const cancels = stored.map(({ id, dueAt }, n) => ({
      id,
      atMs: (dueAt?.getTime() ?? 0) + (random.next() * 2 - 1) * aroundMs,
      // Every tenth is canceled by both at once.
      by: n % 10 === 0 ? clients : [n % 2 === 0 ? first : second],
    }));
    const answers = new Map<string, string[]>();
    await new Aim(1).shootAll(cancels, atOnce, async ({ id, by }) => {
      const said = await Promise.all(by.map((client) => cancelBy(client, id)));
      answers.set(id, said);
      return said[0] === 'canceled' ? 'too-early' : 'too-late';
    });
    await untilDone(stage.database, 120_000);

    const journal = await stage.journal();
    const delivered = new Set(journal.map(({ id }) => id));
    const expected = (id: string): string => (delivered.has(id) ? 'too-late' : 'canceled');
    const contradictions = [...answers].filter(([id, said]) => said.some((each) => each !== expected(id)));
    expect(contradictions).toEqual([]);
    expect(answers.size).toBe(messages);
    expect(journal).toHaveLength(delivered.size);
    // Both sides of the race must have happened, or the test proves nothing.
    expect(delivered.size).toBeGreaterThan(messages / 20);
    expect(messages - delivered.size).toBeGreaterThan(messages / 20);
  },
);
