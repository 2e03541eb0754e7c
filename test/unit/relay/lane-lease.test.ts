import { afterEach, beforeEach, expect, test } from 'vitest';
import { LaneLease } from '../../../src/relay/lane-lease.ts';
import { byNow, fakeTime, pass, realTime, soFar } from '../../support/fixtures/fake-time.ts';
import { ScriptedDatabase } from '../../support/fixtures/scripted-database.ts';

beforeEach(fakeTime);
afterEach(realTime);

const acquire = 'outbox.lane_taken(l) as taken';
const renew = 'update outbox.lane l set alive_until';
const at = {
  cursor: '5',
  snapshot: '9:9:',
  suspect: null,
  lapsed: false,
  untold: false,
  hold: null,
  heldMs: 0,
};

function leaseOf({ standIn, tied = true }: { standIn?: boolean; tied?: boolean } = {}) {
  const database = new ScriptedDatabase().on(acquire, [at]).on(renew, [{ ctid: '(0,1)' }]);
  const lane = { topic: 'orders', lane: 3 };
  const session = tied ? { session: () => database.live } : {};
  const lease = new LaneLease({ database, lane, ...session, ...(standIn !== undefined && { standIn }) });
  return { database, lease, renewals: () => database.valuesOf(renew) };
}

test('an owner records its identity, and whether it is a stand-in, when it takes and when it renews a lane', async () => {
  for (const standIn of [true, false, undefined]) {
    const { database, lease, renewals } = leaseOf(standIn === undefined ? {} : { standIn });
    expect(await byNow(lease.acquire())).toEqual(at);
    expect(await byNow(lease.renew())).toBe(true);
    const told = [10_000, '7', standIn ?? false];
    expect(database.valuesOf(acquire)).toEqual([['orders', 3, lease.owner, ...told]]);
    expect(renewals()).toEqual([['orders', 3, lease.owner, null, ...told]]);
    expect(database.asked.at(-1)?.inTransaction).toBe(true);
  }
});

test('without a session only the lease shows that the owner is alive', async () => {
  const { lease, renewals } = leaseOf({ tied: false });
  await byNow(lease.acquire());
  await pass(2_999);
  await byNow(lease.renewIfOld());
  expect(renewals()).toEqual([]);
  await byNow(lease.renew());
  expect(renewals()[0]?.[5]).toBeNull();
});

test('a lease is renewed once it is three seconds old, counted from the start of the statement', async () => {
  const { database, lease, renewals } = leaseOf();
  database.on(acquire, async () => {
    await pass(1_000);
    return [at];
  });
  await byNow(lease.acquire());
  expect(lease.ageMs).toBe(1_000);
  await pass(1_999);
  await byNow(lease.renewIfOld());
  expect(renewals()).toHaveLength(0);
  await pass(1);
  await byNow(lease.renewIfOld());
  expect(renewals()).toHaveLength(1);
  expect(lease.ageMs).toBe(0);

  lease.prolonged(performance.now() - 400);
  expect(lease.ageMs).toBe(400);
  await pass(2_599);
  await byNow(lease.renewIfOld());
  expect(renewals()).toHaveLength(1);
  await pass(1);
  await byNow(lease.renewIfOld());
  expect(renewals()).toHaveLength(2);
});

test('a lane tied to a lost session is tied to the next one at once', async () => {
  const { database, lease, renewals } = leaseOf();
  await byNow(lease.acquire());
  database.live = { key: '8' };
  await byNow(lease.renewIfOld());
  await byNow(lease.renewIfOld());
  expect(renewals().map((values) => values[5])).toEqual(['8']);
});

test('the row is looked up where it was last written, and by its key when it has moved', async () => {
  const { database, lease, renewals } = leaseOf();
  const ctids = () => renewals().map((values) => values[3]);
  await byNow(lease.renew());
  expect(ctids()).toEqual([null]);
  await byNow(lease.renew());
  expect(ctids()).toEqual([null, '(0,1)']);
  database.on(renew, ([, , , ctid]) => (ctid === null ? [{ ctid: '(0,9)' }] : []));
  expect(await byNow(lease.renew())).toBe(true);
  expect(ctids()).toEqual([null, '(0,1)', '(0,1)', null]);
  await byNow(lease.renew());
  expect(ctids().slice(4)).toEqual(['(0,9)', null]);
});

test('a lease is renewed while work runs, one statement at a time, and not after it', async () => {
  const { database, lease, renewals } = leaseOf();
  await byNow(lease.acquire());
  let end: (value: string) => void = () => undefined;
  const work = soFar(lease.during(() => new Promise<string>((resolve) => (end = resolve))));
  await pass(2_900);
  expect(renewals()).toHaveLength(0);
  await pass(200);
  expect(renewals()).toHaveLength(1);

  let answer: () => void = () => undefined;
  database.on(renew, () => new Promise((resolve) => (answer = () => resolve([{ ctid: '(0,1)' }]))));
  await pass(3_200);
  expect(renewals()).toHaveLength(2);
  await pass(4_000);
  expect(renewals()).toHaveLength(2);
  answer();
  await pass(200);
  // Its age counts from its beginning, four seconds ago: the next look renews it again.
  expect(renewals()).toHaveLength(3);

  end('done');
  await pass(0);
  expect(work).toEqual({ state: 'resolved', value: 'done' });
  answer();
  await pass(20_000);
  expect(renewals()).toHaveLength(3);
});

test('a failed renewal during work is tried again, and the work ends normally', async () => {
  const { database, lease, renewals } = leaseOf();
  await byNow(lease.acquire());
  database.refuse(renew, new Error('no connection'));
  let fail: (error: Error) => void = () => undefined;
  const work = soFar(lease.during(() => new Promise<never>((_, reject) => (fail = reject))));
  await pass(3_400);
  expect(renewals().length).toBeGreaterThan(1);
  expect(work.state).toBe('open');
  expect(lease.lostSignal.aborted).toBe(false);
  fail(new Error('broken'));
  await pass(0);
  expect(work).toMatchObject({ state: 'rejected', error: { message: 'broken' } });
  const asked = renewals().length;
  await pass(10_000);
  expect(renewals()).toHaveLength(asked);
});

test('a send may outlive the lease once half of it has passed', async () => {
  const { lease } = leaseOf();
  const sinceMs = performance.now();
  await pass(5_000);
  expect(lease.staleSince(sinceMs)).toBe(false);
  await pass(1);
  expect(lease.staleSince(sinceMs)).toBe(true);
});

test('an owner frees its lane as quiet or not, on hold or not, or abandons it', async () => {
  const { database, lease } = leaseOf();
  database.on('set owner = null', []).on(`alive_until = '-infinity'`, []);
  await byNow(lease.free(true, false));
  await byNow(lease.free(false, true));
  await byNow(lease.abandon());
  expect(database.asked.map(({ part, values }) => [part, ...values])).toEqual([
    ['set owner = null', 'orders', 3, lease.owner, true, false],
    ['set owner = null', 'orders', 3, lease.owner, false, true],
    [`alive_until = '-infinity'`, 'orders', 3, lease.owner],
  ]);
});
