import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { defaultTimings } from '../../../src/relay/timings.ts';
import { claim } from '../../../src/store/lane/claim.ts';
import { acquireLane, freeLease, renewLease } from '../../../src/store/lane/lease.ts';
import { type Settlement, settle } from '../../../src/store/lane/settle.ts';
import { MortalDatabase } from '../../support/faults/mortal-database.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { until } from '../../support/fixtures/until.ts';

let fixture: LaneFixture;
eachLane((made) => (fixture = made));

const claimAs = (owner: string, at: { readonly cursor: string; readonly snapshot: string | null }) =>
  claim(fixture.database, fixture.lane, {
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
  changes: [{ id: fixture.idOf(label), to: 'retrying', attempt: 'rejected', error: 'no', retryInMs: 60_000 }],
  claimSnapshot: snapshot,
  durable: true,
});

test('two drains never own a lane together: the second waits until the first frees it', async () => {
  await fixture.send('A');
  let inPublish = 0;
  let most = 0;
  fixture.broker.before = async () => {
    inPublish += 1;
    most = Math.max(most, inPublish);
    await fixture.send(`next-${fixture.broker.batches.length}`);
  };
  fixture.broker.after = () => {
    inPublish -= 1;
    if (fixture.broker.batches.length >= 5) fixture.broker.before = () => void (inPublish += 1);
  };

  await Promise.all([fixture.drain(), fixture.drain(), fixture.drain()]);

  expect(most).toBe(1);
  expect(new Set(fixture.broker.labels).size).toBe(fixture.broker.labels.length);
});

test('every return frees the lane: quiet, out of time, stopped', async () => {
  await fixture.send('A');
  expect(await fixture.drain()).toBe('quiet');
  expect(await fixture.laneRow()).toMatchObject({ owner: null, live: false });

  const timings = { ...defaultTimings, drainTimeoutMs: 0, laneIdleTimeoutMs: 50, checkIntervalMs: 1 };
  expect(await fixture.drain({ timings })).toBe('more');
  expect(await fixture.laneRow()).toMatchObject({ owner: null, live: false });

  const stop = new AbortController();
  fixture.broker.after = () => stop.abort();
  await fixture.send('B');
  expect(await fixture.drain({ signal: stop.signal })).toBe('more');
  expect(await fixture.laneRow()).toMatchObject({ owner: null, live: false });
  expect(await fixture.states('B')).toEqual(['published']);
});

test('a dead owner keeps its lane for ten seconds and no longer', async () => {
  const dead = randomUUID();
  const next = randomUUID();
  const [before] = await fixture.database.query<{ at: string }>('select clock_timestamp()::text as at');
  await acquireLane(fixture.database, fixture.lane, dead);
  const [lease] = await fixture.database.query<{ sinceBeforeMs: number; leftMs: number }>(
    `select extract(epoch from alive_until - $1::timestamptz)::float8 * 1000 as "sinceBeforeMs",
       extract(epoch from alive_until - clock_timestamp())::float8 * 1000 as "leftMs" from outbox.lane`,
    [before?.at],
  );
  expect(lease?.sinceBeforeMs).toBeGreaterThanOrEqual(10_000);
  expect(lease?.leftMs).toBeLessThanOrEqual(10_000);
  expect(await acquireLane(fixture.database, fixture.lane, next)).toBeUndefined();

  await fixture.lapse();

  expect(await acquireLane(fixture.database, fixture.lane, next)).toMatchObject({ lapsed: true });
});

test('a lease lasts to its last second', async () => {
  await acquireLane(fixture.database, fixture.lane, randomUUID());
  const lastsMs = 2_000;

  const taken: (string | undefined)[] = [];
  await until(() =>
    fixture.database.transaction(async (sql) => {
      await sql.query(`update outbox.lane set alive_until = now() + $1 * interval '1 ms'`, [lastsMs]);
      const acquired = await acquireLane(sql, fixture.lane, randomUUID());
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
  await fixture.send('A');
  const old = randomUUID();
  await acquireLane(fixture.database, fixture.lane, old);
  const claimed = await claimAs(old, { cursor: '0', snapshot: null });
  await fixture.lapse();
  const next = randomUUID();
  await acquireLane(fixture.database, fixture.lane, next);

  expect(await claimAs(old, { cursor: '0', snapshot: null })).toMatchObject({ owned: false, messages: [] });
  expect(await settle(fixture.database, fixture.lane, retrying(old, 'A', claimed.snapshot))).toBe(false);
  expect(await renewLease(fixture.database, fixture.lane, old)).toBe(false);
  await freeLease(fixture.database, fixture.lane, old, true);

  expect(await fixture.row('A')).toMatchObject({ stored: 'ready', attempts: 0 });
  expect(await fixture.laneRow()).toMatchObject({ owner: next, cursor: '0', live: true });
});

test('a lane taken before a restart of the server has to be taken anew', async () => {
  await fixture.send('A');
  const owner = randomUUID();
  await acquireLane(fixture.database, fixture.lane, owner);
  await fixture.database.query(`update outbox.lane set incarnation = incarnation - interval '1 day'`);

  expect(await claimAs(owner, { cursor: '0', snapshot: null })).toMatchObject({ owned: false, messages: [] });
  expect(await renewLease(fixture.database, fixture.lane, owner)).toBe(false);
  expect(await acquireLane(fixture.database, fixture.lane, randomUUID())).toMatchObject({ lapsed: true });
});

test('an owner whose session has ended is replaced half a second after its last renewal', async () => {
  const session = await fixture.begin();
  await session.query('select pg_advisory_xact_lock(4711)');
  await acquireLane(fixture.database, fixture.lane, randomUUID(), { session: '4711' });
  const renewedAgo = (ms: number) =>
    fixture.database.query(
      `update outbox.lane set alive_until = clock_timestamp() + interval '10 s' - $1 * interval '1 ms'`,
      [ms],
    );
  await renewedAgo(2_000);
  expect(await acquireLane(fixture.database, fixture.lane, randomUUID())).toBeUndefined();

  await session.rollback();

  await renewedAgo(-5_000);
  expect(await acquireLane(fixture.database, fixture.lane, randomUUID())).toBeUndefined();
  await renewedAgo(600);
  expect(await acquireLane(fixture.database, fixture.lane, randomUUID())).toMatchObject({ lapsed: true });
});

test('a new owner waits for a settle in progress and claims only the messages that it left', async () => {
  await fixture.send('A');
  await fixture.send('B');
  const old = randomUUID();
  await acquireLane(fixture.database, fixture.lane, old);
  const claimed = await claimAs(old, { cursor: '0', snapshot: null });
  const last = claimed.messages.at(-1)?.position ?? '';
  // The row lock of a stranger stops the settle between its two statements.
  const stranger = await fixture.begin();
  await stranger.query(`select from outbox.message where id = $1 for update`, [fixture.idOf('A')]);
  await fixture.lapse();
  const settling = settle(fixture.database, fixture.lane, {
    ...retrying(old, 'A', claimed.snapshot),
    cursor: last,
  });
  await until(waiting);
  const next = randomUUID();
  const early = await fixture.database.transaction(async (sql) => {
    await sql.query(`set local lock_timeout = '5s'`);
    return acquireLane(sql, fixture.lane, next).catch(() => 'it waited for the lock');
  });
  await stranger.commit();

  expect(early).toBeUndefined();
  expect(await settling).toBe(true);
  // The settle prolonged the lease; the new owner gets the lane only after that ran out, with the new cursor.
  expect(await acquireLane(fixture.database, fixture.lane, next)).toBeUndefined();
  await fixture.lapse();
  const taken = await acquireLane(fixture.database, fixture.lane, next);
  expect(taken).toMatchObject({ cursor: last, snapshot: claimed.snapshot });
  expect((await claimAs(next, { cursor: last, snapshot: claimed.snapshot })).messages).toEqual([]);

  async function waiting(): Promise<boolean> {
    const rows = await fixture.database.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return rows.length === 1;
  }
});

test('an owner frozen past its lease settles nothing when it resumes', async () => {
  await fixture.send('A', { key: 'A' });
  const frozen = new MortalDatabase(fixture.database);
  let thaw: () => void = () => undefined;
  const awake = new Promise<void>((resolve) => (thaw = resolve));
  fixture.broker.before = async () => {
    fixture.broker.before = () => undefined;
    frozen.freeze();
    await awake;
    frozen.thaw();
  };
  const sleeping = fixture.drain({ database: frozen });
  await until(() => fixture.broker.batches.length === 1);
  await fixture.lapse();

  fixture.broker.judge = () => 'reject';
  await fixture.drain();
  expect(await fixture.row('A')).toMatchObject({ state: 'retrying', attempts: 1, maybePublished: true });
  fixture.broker.judge = () => 'store';
  thaw();

  expect(await sleeping).toBe('more');
  expect(fixture.events).toContainEqual({ type: 'lane-lost', ...fixture.lane });
  expect(await fixture.row('A')).toMatchObject({ state: 'retrying', attempts: 1 });
  expect(await fixture.cancel('A')).toBe('too-late');
});

test('a settle whose answer was lost is repeated and writes its batch once', async () => {
  await fixture.send('A');
  const database = new MortalDatabase(fixture.database);
  let lost = 0;
  const flaky: typeof fixture.database = {
    query: async (text, values) => {
      const rows = await database.query(text, values);
      if (text.includes('outbox.pass(') && lost++ === 0)
        throw Object.assign(new Error('reset'), { code: 'ECONNRESET' });
      return rows as never;
    },
    transaction: (work) => database.transaction(work),
    openSession: (channel, onNotify) => database.openSession(channel, onNotify),
    close: () => database.close(),
  };

  expect(await fixture.drain({ database: flaky })).toBe('quiet');

  expect(lost).toBe(2);
  expect(fixture.broker.labels).toEqual(['A']);
  expect(await fixture.database.query(`select count from outbox.batch`)).toEqual([{ count: 1 }]);
});

test('a lease granted before the clock was set back excludes no other owner', async () => {
  expect(await acquireLane(fixture.database, fixture.lane, randomUUID())).toBeDefined();
  await fixture.database.query(`update outbox.lane set alive_until = alive_until + interval '1 hour'`);

  expect(await acquireLane(fixture.database, fixture.lane, randomUUID())).toMatchObject({ lapsed: true });
});
