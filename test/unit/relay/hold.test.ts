import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Hold } from '../../../src/brokers/transport.ts';
import { sitOutHold } from '../../../src/relay/hold.ts';
import { LaneLease } from '../../../src/relay/lane-lease.ts';
import { OwnHold } from '../../../src/relay/own-hold.ts';
import { drainStage } from '../../support/fixtures/drain-stage.ts';
import { fakeTime, pass, realTime, soFar } from '../../support/fixtures/fake-time.ts';

beforeEach(fakeTime);
afterEach(realTime);

const write = 'update outbox.lane l set hold';
const paused = 'outbox.is_paused';
const renew = 'update outbox.lane l set alive_until';
const reason: Hold = { scope: 'topic', reason: 'no leader' };

/** @param heldMs how long an earlier owner has held the lane, if one has */
function holding({ firstProbeMs = 0, forMs = 60_000, heldMs = 0 } = {}) {
  const stage = drainStage();
  const { database, broker, input } = stage;
  database
    .on(write, [{ heldMs }])
    .on(paused, [{ paused: false }])
    .on(renew, [{ ctid: '(0,1)' }]);
  broker.reachable = false;
  const probes: (readonly [address: string, ms: number])[] = [];
  const beganAt = performance.now();
  broker.probe = async (...[address]: readonly string[]) => {
    probes.push([String(address), performance.now() - beganAt]);
    if (!broker.reachable) throw new Error('unreachable by the script');
  };
  const lease = new LaneLease(input);
  lease.prolonged(beganAt);
  const own = new OwnHold(input, lease, { hold: heldMs > 0 ? reason : null, heldMs });
  const limits = { own, firstProbeMs, deadline: beganAt + forMs, stop: stage.stop.signal };
  const end = soFar(sitOutHold(input, lease, reason, limits));
  const written = () => database.valuesOf(write);
  return { ...stage, lease, own, probes, end, written };
}

test('a hold is written with its reason, probed at once and then every second, and removed when the address answers', async () => {
  const { broker, database, events, probes, end, written, lease, made } = holding();
  await pass(2_500);
  expect(probes).toEqual([
    ['orders', 0],
    ['orders', 1_000],
    ['orders', 2_000],
  ]);
  expect(written()).toEqual([['orders', 3, lease.owner, JSON.stringify(reason)]]);
  expect(events).toEqual([{ type: 'hold-began', hold: reason, continued: false, topic: 'orders', lane: 3 }]);
  expect(made.progress).toBe(3);
  expect(end.state).toBe('open');

  broker.reachable = true;
  await pass(1_000);
  expect(end.state).toBe('resolved');
  expect(written().slice(1)).toEqual([['orders', 3, lease.owner, null]]);
  expect(events.slice(1)).toEqual([
    { type: 'hold-ended', lastedMs: 3_000, over: true, topic: 'orders', lane: 3 },
  ]);
  expect(database.valuesOf(renew)).toHaveLength(1);
});

test('nothing is probed before the hold is in the row', async () => {
  const { database, events, probes, input, lease, end } = holding();
  const own = new OwnHold(input, lease, { hold: null, heldMs: 0 });
  await pass(0);
  expect(end.state).toBe('open');
  database.on(write, () => new Promise(() => undefined));
  const stop = new AbortController().signal;
  const limits = { own, firstProbeMs: 0, deadline: Number.POSITIVE_INFINITY, stop };
  const [told, probed] = [events.length, probes.length];
  soFar(sitOutHold(input, lease, reason, limits));
  await pass(500);
  expect([events.length, probes.length]).toEqual([told, probed]);
});

test('a hold with a minimum duration is probed after it', async () => {
  const { broker, probes, end } = holding({ firstProbeMs: 400 });
  broker.reachable = true;
  await pass(399);
  expect(probes).toEqual([]);
  await pass(1);
  expect(probes).toHaveLength(1);
  expect(end.state).toBe('resolved');
});

test('a pause ends the wait although the address does not answer, and the hold goes on', async () => {
  const { database, probes, end, written } = holding();
  await pass(500);
  database.on(paused, [{ paused: true }]);
  await pass(500);
  expect(end.state).toBe('resolved');
  expect(probes).toHaveLength(1);
  expect(written()).toHaveLength(1);
});

test('the end of a hold is reported also if the database then fails', async () => {
  const { database, end, events, own } = holding();
  await pass(0);
  database.refuse(paused, new Error('no connection'));
  await pass(1_000);
  expect(end).toMatchObject({ state: 'rejected', error: { message: 'no connection' } });
  own.leave(false);
  expect(events.at(-1)).toMatchObject({ type: 'hold-ended', lastedMs: 1_000 });
});

test('the lease is renewed while a probe has no answer, and a stop does not wait for it indefinitely', async () => {
  const { broker, database, stop, end } = holding();
  await pass(0);
  broker.probe = () => new Promise(() => undefined);
  await pass(8_000);
  expect(database.valuesOf(renew).length).toBeGreaterThan(1);
  stop.abort();
  await pass(60_000);
  expect(end).toMatchObject({ state: 'rejected', error: { code: 'OUTBOX_TRANSPORT_STUCK' } });
});
