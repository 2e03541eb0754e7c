import { randomUUID } from 'node:crypto';
import { stderr } from 'node:process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { claim } from '../../src/store/claim.ts';
import { DueEdge } from '../../src/store/due-edge.ts';
import type { Sql } from '../../src/store/database.ts';
import { receive } from '../../src/store/inbox/receive.ts';
import { anyKey, untoldKeys } from '../../src/store/inbox/parked-keys.ts';
import { releaseHeld } from '../../src/store/release-held.ts';
import { releaseMessage, sweep } from '../../src/store/release.ts';
import { wantedLanes } from '../../src/store/starts.ts';
import { look } from '../../src/store/watch.ts';
import { owner, ScaleWorld } from '../support/scale-world.ts';

/** A tenth of what a large installation holds, unless `SCALE` says otherwise. */
const scale = Number(process.env['SCALE'] ?? 0.1);
const large = {
  log: 10_000_000 * scale,
  failed: 1_000_000 * scale,
  waiting: 1_000_000 * scale,
  parked: 1_000_000 * scale,
  turnover: 100_000 * scale,
};
const small = { log: 1_000, failed: 20_000, waiting: 5_000, parked: 100, turnover: 0 };
/** Beside it: each index that a statement goes down may be two pages deeper. */
const mostTimes = 1.5;
const deeper = 30;

interface Measured {
  readonly world: ScaleWorld;
  readonly edge: DueEdge;
  readonly snapshot: string;
  readonly cursor: string;
  readonly waitingId: string;
}

let worlds: { readonly small: Measured; readonly large: Measured };
beforeAll(async () => {
  worlds = { small: await measured(small), large: await measured(large) };
}, 3_600_000);
afterAll(async () => {
  await worlds.small.world.drop();
  await worlds.large.world.drop();
});

async function measured(size: typeof large): Promise<Measured> {
  const startedAt = performance.now();
  const edge = new DueEdge();
  const world = await ScaleWorld.create(size, edge);
  stderr.write(`${size.log} messages are loaded after ${Math.round(performance.now() - startedAt)} ms\n`);
  const { database } = world.bench;
  const { snapshot } = await look(database, null, edge);
  // From here on it walks from where it was, however long this takes.
  edge.walked(null, edge.from(0) ?? '-infinity', 0, Number.MAX_SAFE_INTEGER);
  const [row] = await database.query<{ cursor: string; id: string }>(
    `select cursor, (select id from outbox.message where state = 'waiting' limit 1) as id from outbox.lane`,
  );
  if (row === undefined) throw new Error('The lane is missing.');
  return { world, edge, snapshot, cursor: row.cursor, waitingId: row.id };
}

const claimOf =
  (limit: number, failedBlocks = false) =>
  ({ world, snapshot, cursor }: Measured) => {
    const request = { owner, cursor, snapshot, limit, bytes: 16_777_216, failedBlocks, suspect: null };
    return (sql: Sql) => claim(sql, world.bench.lane, request);
  };
/** Behind all that is ready. */
const claimOfNothing = (failedBlocks: boolean) => (on: Measured) =>
  claimOf(2_000, failedBlocks)({ ...on, cursor: String(BigInt(on.cursor) + 1_000_000n) });
const sweepOf =
  (limit: number) =>
  ({ edge }: Measured) =>
  (sql: Sql) =>
    sweep(sql, ['orders'], limit, edge);

const newMessages = (count: number) =>
  Array.from({ length: count }, () => ({ id: randomUUID(), topic: 'orders', key: `new-${randomUUID()}` }));

test.each<[string, (on: Measured) => (sql: Sql) => Promise<unknown>, (readonly string[])?]>([
  [
    'a look',
    ({ snapshot, edge }) =>
      (sql) =>
        look(sql, snapshot, edge),
  ],
  ['a sweep of 10 that are due at one instant', sweepOf(10)],
  ['a sweep of 2,000 that are due at one instant', sweepOf(2_000)],
  ['a claim of nothing', claimOfNothing(false)],
  ['a claim of 10', claimOf(10)],
  ['a claim of 2,000', claimOf(2_000)],
  ['a claim of nothing where failed messages block', claimOfNothing(true)],
  ['a claim of 10 where failed messages block', claimOf(10, true)],
  ['a claim of 2,000 where failed messages block', claimOf(2_000, true)],
  [
    'a release of 1,000 that are held',
    ({ world }) =>
      (sql) =>
        releaseHeld(sql, world.bench.lane, false),
  ],
  [
    'a release of one message',
    ({ waitingId }) =>
      (sql) =>
        releaseMessage(sql, waitingId),
  ],
  [
    'the search for lanes with work',
    () => (sql) => wantedLanes(sql, ['orders']),
    [
      `update outbox.lane set owner = null, cursor = cursor + 1000000, snapshot = pg_current_snapshot()`,
      `update outbox.message set state = 'canceled' where key = 'hot' and state = 'held'`,
    ],
  ],
  ['the receiving of one message', () => (sql) => receive(sql, 'shop', newMessages(1))],
  ['the receiving of 100 messages', () => (sql) => receive(sql, 'shop', newMessages(100))],
  ['a look for parked keys', () => (sql) => untoldKeys(sql, 'shop', 100)],
  ['the question whether a key is parked', () => (sql) => anyKey(sql, 'shop')],
])('%s costs what it costs in a small table', async (title, work, settings) => {
  const before = await worlds.small.world.cost(work(worlds.small), settings);
  const after = await worlds.large.world.cost(work(worlds.large), settings);

  const told = (cost: typeof before): string => `${cost.pages} pages, ${cost.ms.toFixed(1)} ms`;
  stderr.write(`${title}: ${told(before)}; in the large table ${told(after)}\n`);
  expect(after.pages).toBeLessThan(before.pages * mostTimes + deeper);
});
