import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Database } from '../../src/store/database/database.ts';
import { openDatabase } from '../../src/store/database/pool.ts';
import { releaseMessages, sweep } from '../../src/store/message/release.ts';
import { storeMessages } from '../../src/store/message/write.ts';
import { eachLane, type LaneFixture } from '../support/fixtures/lane-fixture.ts';
import { type Random, seededRandom } from '../support/fixtures/random.ts';
import { until } from '../support/fixtures/until.ts';

const keys = 200;

let fixture: LaneFixture;
let relays: readonly Database[];
eachLane((made) => (fixture = made), { timer: 'lane' });
beforeEach(async () => {
  relays = [1, 2, 3].map(() => openDatabase({ url: fixture.url, connections: 2 }));
});
afterEach(async () => {
  await Promise.all(relays.map((relay) => relay.close()));
});

/**
 * Stores two to five messages of each key of this round, mixed, all due at one instant that has passed.
 *
 * @returns the ids of each key as they were sent
 */
async function due(random: Random, round: number): Promise<ReadonlyMap<string, readonly string[]>> {
  const mixed = Array.from({ length: keys }, (_, n) =>
    Array.from({ length: 2 + random.below(4) }, () => ({ key: `${round}/${n}`, rank: random.next() })),
  )
    .flat()
    .toSorted((one, other) => one.rank - other.rank);
  const stored = await storeMessages(
    fixture.database,
    fixture.topic,
    mixed.map(({ key }) => ({ payload: '{}', key, afterMs: 60_000 })),
  );
  await fixture.database.query(
    `update outbox.message set due_at = now() - interval '1 minute' where state = 'waiting'`,
  );
  const sent = new Map<string, string[]>();
  for (const [n, { key }] of mixed.entries()) sent.set(key, [...(sent.get(key) ?? []), stored[n]?.id ?? '']);
  return sent;
}

/** The ids of each key in the order in which they are delivered. */
async function placed(): Promise<ReadonlyMap<string, readonly string[]>> {
  const rows = await fixture.database.query<{ key: string; ids: readonly string[] }>(
    `select key, array_agg(id::text order by position) as ids from outbox.message where state = 'ready' group by key`,
  );
  return new Map(rows.map(({ key, ids }) => [key, ids]));
}

/** Three relays sweep and release the messages, as their workflows do, until none waits. */
async function race(
  random: Random,
  ids: readonly string[],
  seen: { locked: number; ready: number },
): Promise<void> {
  const over = new AbortController();
  const sweeping = async (relay: Database): Promise<void> => {
    while (!over.signal.aborted) {
      await sweep(relay, [fixture.topic], 1 + random.below(20));
      await turn();
    }
  };
  const releasing = async (relay: Database): Promise<void> => {
    while (!over.signal.aborted) {
      const some = Array.from({ length: 1 + random.below(10) }, () => random.pick(ids) ?? '');
      const { answers } = await releaseMessages(relay, some);
      for (const { kind } of answers.values()) if (kind === 'locked' || kind === 'ready') seen[kind] += 1;
      await turn();
    }
  };
  const open = `select from outbox.message where state = 'waiting' limit 1`;
  const running = relays.flatMap((relay) => [sweeping(relay), releasing(relay)]);
  const ended = until(async () => (await fixture.database.query(open)).length === 0).finally(() => {
    over.abort();
  });
  await Promise.all([...running, ended]);
}

test.each([1, 2])(
  'I3: messages of one due instant that sweeps and workflows of three relays release keep the order of their keys (seed %i)',
  { tags: ['order-per-key'] },
  async (seed) => {
    const random = seededRandom(seed);
    const seen = { locked: 0, ready: 0 };
    // Until the race has occurred: some were asked for while others had them in hand.
    for (let round = 1; seen.locked === 0 || seen.ready === 0; round += 1) {
      expect(round, `rounds with ${JSON.stringify(seen)}`).toBeLessThan(50);
      const sent = await due(random, round);
      await race(random, [...sent.values()].flat(), seen);
      const order = await placed();
      const overtaken = [...sent].filter(([key, each]) => order.get(key)?.join() !== each.join());
      expect(overtaken.map(([key]) => key)).toEqual([]);
    }
  },
);
