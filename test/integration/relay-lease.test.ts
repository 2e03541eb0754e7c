import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { claim } from '../../src/store/lane/claim.ts';
import { acquireLane, freeLease, renewLease } from '../../src/store/lane/lease.ts';
import { type Settlement, settle } from '../../src/store/lane/settle.ts';
import { MortalDatabase } from '../support/faults/mortal-database.ts';
import { type LaneBench, laneBench } from '../support/fixtures/lane-bench.ts';
import { until } from '../support/fixtures/until.ts';

let bench: LaneBench;
beforeEach(async () => {
  bench = await laneBench();
});
afterEach(() => bench.drop());

const claimAs = (owner: string, at: { readonly cursor: string; readonly snapshot: string | null }) =>
  claim(bench.database, bench.lane, {
    ...at,
    owner,
    limit: 100,
    bytes: 1_000_000,
    failedBlocks: false,
    suspect: null,
  });

const retrying = (owner: string, label: string, snapshot: string): Settlement => ({
  owner,
  cursor: '1',
  snapshot,
  changes: [{ id: bench.idOf(label), to: 'retrying', attempt: 'rejected', error: 'no', retryInMs: 60_000 }],
});

test('two drains never own a lane together: the second waits until the first frees it', async () => {
  await bench.send('A');
  let inPublish = 0;
  let most = 0;
  bench.broker.before = async () => {
    inPublish += 1;
    most = Math.max(most, inPublish);
    await bench.send(`next-${bench.broker.batches.length}`);
  };
  bench.broker.after = () => {
    inPublish -= 1;
    if (bench.broker.batches.length >= 5) bench.broker.before = () => void (inPublish += 1);
  };

  await Promise.all([bench.drain(), bench.drain(), bench.drain()]);

  expect(most).toBe(1);
  expect(new Set(bench.broker.labels).size).toBe(bench.broker.labels.length);
});

test('every return frees the lane: quiet, out of time, stopped', async () => {
  await bench.send('A');
  expect(await bench.drain()).toBe('quiet');
  expect(await bench.laneRow()).toMatchObject({ owner: null, live: false });

  expect(
    await bench.drain({
      timings: { runMs: 0, lingerMs: 50, hotLookMs: 1, idleLookMs: 1, checkMs: 1, probeMs: 1 },
    }),
  ).toBe('more');
  expect(await bench.laneRow()).toMatchObject({ owner: null, live: false });

  const stop = new AbortController();
  bench.broker.after = () => stop.abort();
  await bench.send('B');
  expect(await bench.drain({ signal: stop.signal })).toBe('more');
  expect(await bench.laneRow()).toMatchObject({ owner: null, live: false });
  expect(await bench.states('B')).toEqual(['published']);
});

test('a dead owner keeps its lane for ten seconds and no longer', async () => {
  const dead = randomUUID();
  const next = randomUUID();
  const [before] = await bench.database.query<{ at: string }>('select clock_timestamp()::text as at');
  await acquireLane(bench.database, bench.lane, dead);
  const [lease] = await bench.database.query<{ sinceBeforeMs: number; leftMs: number }>(
    `select extract(epoch from alive_until - $1::timestamptz)::float8 * 1000 as "sinceBeforeMs",
       extract(epoch from alive_until - clock_timestamp())::float8 * 1000 as "leftMs" from outbox.lane`,
    [before?.at],
  );
  expect(lease?.sinceBeforeMs).toBeGreaterThanOrEqual(10_000);
  expect(lease?.leftMs).toBeLessThanOrEqual(10_000);
  expect(await acquireLane(bench.database, bench.lane, next)).toBeUndefined();

  await bench.lapse();

  expect(await acquireLane(bench.database, bench.lane, next)).toMatchObject({ lapsed: true });
});

test('a lease is kept to its last second', async () => {
  await acquireLane(bench.database, bench.lane, randomUUID());
  const lastsMs = 2_000;

  const taken: (string | undefined)[] = [];
  await until(() =>
    bench.database.transaction(async (sql) => {
      await sql.query(`update outbox.lane set alive_until = now() + $1 * interval '1 ms'`, [lastsMs]);
      const acquired = await acquireLane(sql, bench.lane, randomUUID());
      const [row] = await sql.query<{ tookMs: number }>(
        `select extract(epoch from clock_timestamp() - now())::float8 * 1000 as "tookMs"`,
      );
      // On a machine that was slower than the lease it is asked again.
      const inTime = (row?.tookMs ?? lastsMs) < lastsMs;
      if (inTime) taken.push(acquired?.cursor);
      return inTime;
    }),
  );

  expect(taken).toEqual([undefined]);
});

test('an owner that lost its lane claims nothing, settles nothing, renews nothing and frees nothing', async () => {
  await bench.send('A');
  const old = randomUUID();
  await acquireLane(bench.database, bench.lane, old);
  const claimed = await claimAs(old, { cursor: '0', snapshot: null });
  await bench.lapse();
  const next = randomUUID();
  await acquireLane(bench.database, bench.lane, next);

  expect(await claimAs(old, { cursor: '0', snapshot: null })).toMatchObject({ owned: false, messages: [] });
  expect(await settle(bench.database, bench.lane, retrying(old, 'A', claimed.snapshot))).toBe(false);
  expect(await renewLease(bench.database, bench.lane, old)).toBe(false);
  await freeLease(bench.database, bench.lane, old, true);

  expect(await bench.row('A')).toMatchObject({ stored: 'ready', attempts: 0 });
  expect(await bench.laneRow()).toMatchObject({ owner: next, cursor: '0', live: true });
});

test('a lane that was taken before the server was started again has to be taken anew', async () => {
  await bench.send('A');
  const owner = randomUUID();
  await acquireLane(bench.database, bench.lane, owner);
  await bench.database.query(`update outbox.lane set incarnation = incarnation - interval '1 day'`);

  expect(await claimAs(owner, { cursor: '0', snapshot: null })).toMatchObject({ owned: false, messages: [] });
  expect(await renewLease(bench.database, bench.lane, owner)).toBe(false);
  expect(await acquireLane(bench.database, bench.lane, randomUUID())).toMatchObject({ lapsed: true });
});

test('an owner whose session has ended is followed half a second after its last renewal', async () => {
  const session = await bench.begin();
  await session.query('select pg_advisory_xact_lock(4711)');
  await acquireLane(bench.database, bench.lane, randomUUID(), '4711');
  const renewedAgo = (ms: number) =>
    bench.database.query(
      `update outbox.lane set alive_until = clock_timestamp() + interval '10 s' - $1 * interval '1 ms'`,
      [ms],
    );
  await renewedAgo(2_000);
  expect(await acquireLane(bench.database, bench.lane, randomUUID())).toBeUndefined();

  await session.rollback();

  await renewedAgo(-5_000);
  expect(await acquireLane(bench.database, bench.lane, randomUUID())).toBeUndefined();
  await renewedAgo(600);
  expect(await acquireLane(bench.database, bench.lane, randomUUID())).toMatchObject({ lapsed: true });
});

test('a new owner waits for a settle that is under way, and claims only what it left', async () => {
  await bench.send('A');
  await bench.send('B');
  const old = randomUUID();
  await acquireLane(bench.database, bench.lane, old);
  const claimed = await claimAs(old, { cursor: '0', snapshot: null });
  const last = claimed.messages.at(-1)?.position ?? '';
  // The row lock of a stranger stops the settle between its two statements.
  const stranger = await bench.begin();
  await stranger.query(`select from outbox.message where id = $1 for update`, [bench.idOf('A')]);
  await bench.lapse();
  const settling = settle(bench.database, bench.lane, {
    ...retrying(old, 'A', claimed.snapshot),
    cursor: last,
  });
  await until(waiting);
  const next = randomUUID();
  const early = await bench.database.transaction(async (sql) => {
    await sql.query(`set local lock_timeout = '5s'`);
    return acquireLane(sql, bench.lane, next).catch(() => 'it waited for the lock');
  });
  await stranger.commit();

  expect(early).toBeUndefined();
  expect(await settling).toBe(true);
  // The settle prolonged the lease; the new owner gets the lane only after that ran out, with the new cursor.
  expect(await acquireLane(bench.database, bench.lane, next)).toBeUndefined();
  await bench.lapse();
  const taken = await acquireLane(bench.database, bench.lane, next);
  expect(taken).toMatchObject({ cursor: last, snapshot: claimed.snapshot });
  expect((await claimAs(next, { cursor: last, snapshot: claimed.snapshot })).messages).toEqual([]);

  async function waiting(): Promise<boolean> {
    const rows = await bench.database.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return rows.length === 1;
  }
});

test('an owner that was frozen past its lease settles nothing when it wakes up', async () => {
  await bench.send('A', { key: 'A' });
  const frozen = new MortalDatabase(bench.database);
  let thaw: () => void = () => undefined;
  const awake = new Promise<void>((resolve) => (thaw = resolve));
  bench.broker.before = async () => {
    bench.broker.before = () => undefined;
    frozen.freeze();
    await awake;
    frozen.thaw();
  };
  const sleeping = bench.drain({ database: frozen });
  await until(() => bench.broker.batches.length === 1);
  await bench.lapse();

  bench.broker.judge = () => 'reject';
  await bench.drain();
  expect(await bench.row('A')).toMatchObject({ state: 'retrying', attempts: 1, maybePublished: true });
  bench.broker.judge = () => 'store';
  thaw();

  expect(await sleeping).toBe('more');
  expect(bench.events).toContainEqual({ type: 'lane-lost', ...bench.lane });
  expect(await bench.row('A')).toMatchObject({ state: 'retrying', attempts: 1 });
  expect(await bench.cancel('A')).toBe('too-late');
});

test('a settle whose answer was lost is said again and writes its batch once', async () => {
  await bench.send('A');
  const database = new MortalDatabase(bench.database);
  let lost = 0;
  const flaky: typeof bench.database = {
    query: async (text, values) => {
      const rows = await database.query(text, values);
      if (text.includes('outbox.batch') && lost++ === 0)
        throw Object.assign(new Error('reset'), { code: 'ECONNRESET' });
      return rows as never;
    },
    transaction: (work) => database.transaction(work),
    openSession: (channel, onNotify) => database.openSession(channel, onNotify),
    close: () => database.close(),
  };

  expect(await bench.drain({ database: flaky })).toBe('quiet');

  expect(lost).toBe(2);
  expect(bench.broker.labels).toEqual(['A']);
  expect(await bench.database.query(`select count from outbox.batch`)).toEqual([{ count: 1 }]);
});

test('a lease that was given before the clock was set back keeps nobody out', async () => {
  expect(await acquireLane(bench.database, bench.lane, randomUUID())).toBeDefined();
  await bench.database.query(`update outbox.lane set alive_until = alive_until + interval '1 hour'`);

  expect(await acquireLane(bench.database, bench.lane, randomUUID())).toMatchObject({ lapsed: true });
});
