import { expect, onTestFinished, test, vi } from 'vitest';
import { permanent } from '../../../src/inbox/verdict.ts';
import { writeWire } from '../../../src/store/inbox/wire.ts';
import { gate } from '../../support/fixtures/gate.ts';
import { begun, DrainBench } from './drain-bench.ts';

const away = Object.assign(new Error('terminating connection'), { code: '57P01' });

/** When the tries that were given back are due. */
const givenBack = (bench: DrainBench): readonly unknown[] =>
  bench.database.said('outbox.return_try').map(([, , , inMs]) => inMs);

test('a try that fails because of the database uses up none, twenty times in a row', async () => {
  const bench = new DrainBench({ handler: () => Promise.reject(away) });
  bench.database.on('outbox.fail_try', () => [{ kind: 'wait', waitMs: 5 }]);

  for (let round = 0; round < 22; round += 1) {
    const before = givenBack(bench).length;
    const answered = await bench.begins([begun(1)]).run();
    const inMs = Math.min(1_000 * 2 ** round, 30_000);
    if (round === 20) {
      expect(givenBack(bench)).toHaveLength(before);
      expect(bench.database.said('outbox.fail_try')).toHaveLength(1);
      // The count begins anew.
    } else expect(answered).toEqual({ kind: 'waiting', inMs: round === 21 ? 1_000 : inMs });
  }
});

test('a success or a verdict ends the count of tries in a row', async () => {
  let error: Error | undefined = away;
  const bench = new DrainBench({
    handler: async () => {
      if (error !== undefined) throw error;
    },
  });
  bench.database.on('outbox.fail_try', () => [{ kind: 'wait', waitMs: 5 }]);
  const round = () => bench.begins([begun(1)]).run();
  await round();
  await round();
  error = undefined;
  await round();
  error = away;
  await round();
  await round();
  error = permanent(away);
  await round();
  error = away;
  await round();

  expect(givenBack(bench)).toEqual([1_000, 2_000, 1_000, 2_000, 1_000]);
});

test('a message whose handler is elsewhere is returned without limit, at most every four seconds', async () => {
  const bench = new DrainBench({ knownTopics: ['known'] });
  // The topic is known here, and has no handler.
  const elsewhere = begun(1, {
    wire: JSON.stringify({ key: null, headers: { ce_id: 'a', ce_type: 'known' } }),
    topic: 'known',
  });
  bench.database.on('outbox.fail_try', () => [{ kind: 'wait', waitMs: 5 }]);
  for (let round = 0; round < 23; round += 1) await bench.begins([elsewhere]).run();

  expect(givenBack(bench).slice(0, 4)).toEqual([1_000, 2_000, 4_000, 4_000]);
  expect(givenBack(bench)).toHaveLength(23);
  expect(bench.told('attempt-failed')[0]).toMatchObject({
    error: expect.objectContaining({ code: 'OUTBOX_HANDLER_MISSING', details: { topic: 'known' } }),
  });
});

test('a database that is unreachable while a try is returned is asked until it answers, or until the stop', async () => {
  const stopping = new AbortController();
  const bench = new DrainBench({ handler: () => Promise.reject(away) }).begins([begun(1)]);
  let asked = 0;
  bench.database.on('outbox.return_try', () => {
    asked += 1;
    stopping.abort();
    throw away;
  });

  expect(await bench.run(stopping.signal)).toEqual({ kind: 'waiting', inMs: 1_000 });
  expect(asked).toBe(1);

  bench.database.on('outbox.return_try', () => {
    throw new Error('refused');
  });
  await expect(bench.begins([begun(1)]).run()).rejects.toThrow('refused');
});

test('an overtaken try is due at once', async () => {
  const bench = new DrainBench({ handler: () => Promise.reject(away) }).begins([begun(1)]);
  bench.database.on('outbox.return_try', () => [{ returned: false }]);

  expect(await bench.run()).toEqual({ kind: 'waiting', inMs: 0 });
});

test('a failed probe of several messages prolongs the pause and is returned', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const bench = new DrainBench({ breakerKeys: 1, handler: () => Promise.reject(new Error('no')) });
  await bench.begins([begun(1)]).run();
  vi.advanceTimersByTime(1_001);

  await bench.begins([begun(1), begun(2)]).run();

  expect(bench.told('address-paused').at(-1)).toMatchObject({ probes: 1 });
  expect(givenBack(bench).at(-1)).toBe(0);
  expect(bench.database.said('outbox.fail_try')).toEqual([]);
});

test('while a probe is handled, no other message of the address begins, and a second after it has ended one may', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const handling = gate();
  const begins = gate();
  let probing = false;
  const bench = new DrainBench({
    breakerKeys: 1,
    handler: async () => {
      if (!probing) throw new Error('no');
      begins.open();
      await handling.opened;
      // Says nothing about the address.
      throw permanent(new Error('bad'));
    },
  });
  bench.database.on('outbox.fail_try', () => [{ kind: 'wait', waitMs: 5 }]);
  await bench.begins([begun(1)]).run();
  vi.advanceTimersByTime(1_001);
  probing = true;
  const run = bench.begins([begun(1)]).run();
  await begins.opened;
  vi.advanceTimersByTime(10_000);
  expect(bench.breaker.enter('orders')).toBeTypeOf('number');
  handling.open();
  await run;
  expect(bench.breaker.enter('orders')).toBeTypeOf('number');
  vi.advanceTimersByTime(1_000);
  expect(bench.breaker.enter('orders')).toBe('probe');
});

test('an unreadable message does not count for its address, and its probe leaves the pause as it is', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const bench = new DrainBench({ breakerKeys: 1, handler: () => Promise.reject(new Error('no')) });
  bench.database.on('outbox.fail_try', () => [{ kind: 'wait', waitMs: 5 }]);
  const unreadable = begun(1, { body: Buffer.from('{').toString('base64') });
  await bench.begins([unreadable]).run();
  expect(bench.breaker.isPaused('orders')).toBe(false);

  await bench.begins([begun(1)]).run();
  vi.advanceTimersByTime(1_001);
  await bench.begins([unreadable]).run();
  expect(bench.breaker.isPaused('orders')).toBe(true);
  vi.advanceTimersByTime(1_001);
  expect(bench.breaker.enter('orders'), 'another may probe a second later').toBe('probe');
});

test('a parked message that has expired ends no pause of its address, and the next probe begins at once', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const bench = new DrainBench({ breakerKeys: 1, handler: () => Promise.reject(new Error('no')) });
  bench.database.on('outbox.fail_try', () => [{ kind: 'wait', waitMs: 5 }]);
  await bench.begins([begun(1)]).run();
  vi.advanceTimersByTime(1_001);
  const wire = writeWire({
    key: 'k',
    headers: { ce_id: 'id-2', ce_type: 'orders', ce_expirytime: new Date(0).toISOString() },
  });
  await bench.begins([begun(2, { wire })]).run();

  expect(bench.told('expired')).toHaveLength(1);
  expect(bench.breaker.isPaused('orders')).toBe(true);
  expect(bench.breaker.enter('orders')).toBe('probe');
});

test('first failures pause the address, tries of a paused one are returned, and a successful probe ends the pause', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const random = vi.spyOn(Math, 'random').mockReturnValue(0.5);
  onTestFinished(() => {
    vi.useRealTimers();
    random.mockRestore();
  });
  let broken = true;
  const bench = new DrainBench({
    breakerKeys: 1,
    handler: async () => {
      if (broken) throw new Error('no');
    },
  });
  bench.database.on('outbox.fail_try', () => [{ kind: 'wait', waitMs: 5 }]);

  await bench.begins([begun(1, { attempts: 3 })]).run();
  expect(bench.breaker.isPaused('orders'), 'a later failure says nothing new').toBe(false);

  await bench.begins([begun(1, { attempts: 2 })]).run();
  expect(bench.breaker.isPaused('orders')).toBe(true);
  expect(givenBack(bench)).toEqual([1_500]);

  await bench.begins([begun(2)]).run();
  expect(givenBack(bench), 'without a try').toEqual([1_500, 1_500]);
  expect(bench.tally.failedAttempts).toBe(2);

  vi.advanceTimersByTime(1_001);
  await bench.begins([begun(2, { attempts: 3 })]).run();
  expect(givenBack(bench), 'the probe has failed').toEqual([1_500, 1_500, 3_000]);
  expect(bench.told('address-paused').at(-1)).toMatchObject({ probes: 1 });

  vi.advanceTimersByTime(2_001);
  await bench.begins([begun(2), begun(3)]).run();
  vi.advanceTimersByTime(4_001);
  broken = false;
  await bench.begins([begun(2)]).run();
  expect(bench.told('address-resumed')).toHaveLength(1);
  expect(bench.handled).toEqual([2]);
});
