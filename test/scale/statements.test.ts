import { randomUUID } from 'node:crypto';
import { stderr } from 'node:process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Sql } from '../../src/store/database/database.ts';
import { anyKey, untoldKeys } from '../../src/store/inbox/parked-keys.ts';
import { noteArrivals } from '../../src/store/inbox/receive.ts';
import { claim } from '../../src/store/lane/claim.ts';
import { DueEdge } from '../../src/store/lane/due-edge.ts';
import { searchLanes, wantedLanes } from '../../src/store/lane/starts.ts';
import { look } from '../../src/store/lane/watch.ts';
import { sweep } from '../../src/store/message/release.ts';
import { releaseBlocked } from '../../src/store/message/release-blocked.ts';
import { releaseMessage } from '../support/fixtures/release-one.ts';
import { owner, ScaleWorld } from '../support/fixtures/scale-world.ts';

/** A tenth of what a large installation holds, unless `SCALE` says otherwise. */
const scale = Number(process.env['SCALE'] ?? 0.1);
const large = {
  log: 10_000_000 * scale,
  failed: 1_000_000 * scale,
  waiting: 1_000_000 * scale,
  parked: 1_000_000 * scale,
  turnover: 100_000 * scale,
};
/** Of a topic beside that of the messages. */
const idleLanes = 1_024;
const small = { log: 1_000, failed: 20_000, waiting: 5_000, parked: 100, turnover: 0 };
const maxTimes = 1.5;
/** Beside it: each index may be two pages deeper, which a statement that writes many rows meets once for each of them. */
const deeper = (rows: number): number => 30 + rows;

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
  const { database } = world.fixture;
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
    return (sql: Sql) => claim(sql, world.fixture.lane, request);
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

interface Case {
  readonly title: string;
  readonly work: (on: Measured) => (sql: Sql) => Promise<unknown>;
  /** How many rows it writes. @defaultValue a few */
  readonly rows?: number;
  /** What happens before, in the same transaction. */
  readonly before?: readonly string[];
}

const cases: readonly Case[] = [
  {
    title: 'a look',
    work:
      ({ snapshot, edge }) =>
      (sql) =>
        look(sql, snapshot, edge),
  },
  { title: 'a sweep of 10 that are due at one instant', work: sweepOf(10) },
  { title: 'a sweep of 2,000 that are due at one instant', work: sweepOf(2_000), rows: 2_000 },
  { title: 'a claim of nothing', work: claimOfNothing(false) },
  { title: 'a claim of 10', work: claimOf(10) },
  { title: 'a claim of 2,000', work: claimOf(2_000) },
  { title: 'a claim of nothing where failed messages block', work: claimOfNothing(true) },
  { title: 'a claim of 10 where failed messages block', work: claimOf(10, true) },
  { title: 'a claim of 2,000 where failed messages block', work: claimOf(2_000, true) },
  {
    title: 'a release of 1,000 that are blocked',
    work:
      ({ world }) =>
      (sql) =>
        releaseBlocked(sql, world.fixture.lane, false),
    rows: 1_000,
  },
  {
    title: 'a release of one message',
    work:
      ({ waitingId }) =>
      (sql) =>
        releaseMessage(sql, waitingId),
  },
  {
    title: 'the search for lanes with work',
    work: () => (sql) => wantedLanes(sql, ['orders']),
    before: [
      `update outbox.lane set owner = null, cursor = cursor + 1000000, snapshot = pg_current_snapshot()`,
      `update outbox.message set state = 'canceled' where key = 'hot' and state = 'blocked'`,
    ],
  },
  {
    title: 'the search for lanes with work beside 1,024 that are quiet',
    work: () => (sql) =>
      searchLanes(
        sql,
        ['orders', 'idle'],
        Array.from({ length: idleLanes }, (_, lane) => ({ topic: 'idle', lane })),
      ),
    before: [
      `update outbox.lane set owner = null, cursor = cursor + 1000000, snapshot = pg_current_snapshot()`,
      `update outbox.message set state = 'canceled' where key = 'hot' and state = 'blocked'`,
      `insert into outbox.lane (topic, n, snapshot) select 'idle', n, pg_current_snapshot() from generate_series(0, ${idleLanes - 1}) n`,
    ],
    rows: idleLanes,
  },
  { title: 'the receiving of one message', work: () => (sql) => noteArrivals(sql, 'shop', newMessages(1)) },
  {
    title: 'the receiving of 100 messages',
    work: () => (sql) => noteArrivals(sql, 'shop', newMessages(100)),
    rows: 100,
  },
  { title: 'a look for parked keys', work: () => (sql) => untoldKeys(sql, 'shop', 100) },
  { title: 'the question whether a key is parked', work: () => (sql) => anyKey(sql, 'shop') },
];

test.each(cases)(
  '$title costs the same as in a small table',
  { tags: ['history-slows-nothing'] },
  async ({ title, work, rows = 0, before }) => {
    const least = await worlds.small.world.cost(work(worlds.small), before);
    const most = await worlds.large.world.cost(work(worlds.large), before);

    const told = (cost: typeof least): string => `${cost.pages} pages, ${cost.ms.toFixed(1)} ms`;
    stderr.write(`${title}: ${told(least)}; in the large table ${told(most)}\n`);
    expect(most.pages).toBeLessThan(least.pages * maxTimes + deeper(rows));
  },
);
