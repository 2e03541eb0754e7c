import { beforeEach, expect, test } from 'vitest';
import { defaultTimings } from '../../../src/relay/timings.ts';
import { readLaneFacts } from '../../../src/store/doctor/lanes.ts';
import { readFigures } from '../../../src/store/figures/read-figures.ts';
import { wantedLanes } from '../../../src/store/lane/starts.ts';
import { MortalDatabase, ProcessDied } from '../../support/faults/mortal-database.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { ada, operatorAt } from '../../support/fixtures/operator.ts';
import { until } from '../../support/fixtures/until.ts';

let fixture: LaneFixture;
/** What a probe of the broker does. */
let probe: () => Promise<void>;
const away = () => Promise.reject(new Error('away'));
eachLane((made) => (fixture = made));
beforeEach(async () => {
  fixture.broker.judge = () => 'hold';
  probe = away;
  fixture.broker.probe = () => probe();
  await fixture.send('A');
});

const shown = async () => (await fixture.laneRow()).hold;
const wanted = async () => {
  await fixture.database.query('update outbox.lane set started_at = null');
  return wantedLanes(fixture.database, ['orders']);
};

/** How the owners of a lane on hold end. */
const ways = {
  stop: async () => {
    const stop = new AbortController();
    const before = fixture.events.length;
    const drained = fixture.drain({ signal: stop.signal });
    await until(() => fixture.events.slice(before).some(({ type }) => type === 'hold-began'));
    stop.abort();
    expect(await drained).toBe('more');
  },
  deadline: async () => {
    // Long enough for the first send on a busy machine.
    const timings = { ...defaultTimings, drainTimeoutMs: 3_000, laneIdleTimeoutMs: 0, probeIntervalMs: 10 };
    expect(await fixture.drain({ timings })).toBe('more');
  },
  /** The broker is away, and a probe finds the database gone. */
  death: async () => {
    const database = new MortalDatabase(fixture.database);
    const before = probe;
    probe = () => {
      database.kill();
      return away();
    };
    await expect(fixture.drain({ database })).rejects.toBeInstanceOf(ProcessDied);
    probe = before;
    await fixture.lapse();
  },
  /** It gives the lane up as if it had died. */
  error: async () => {
    const before = probe;
    probe = () => new Promise(() => undefined);
    const timings = { ...defaultTimings, laneIdleTimeoutMs: 0, stuckAfterMs: 50 };
    await expect(fixture.drain({ timings })).rejects.toMatchObject({ code: 'OUTBOX_TRANSPORT_STUCK' });
    probe = before;
  },
};

test('a hold outlives its owner, however that ends: the next one continues it, and it is shown all the time', {
  tags: ['hold-as-old-as-its-cause'],
}, async () => {
  await ways.stop();
  const first = await shown();
  expect(first).toMatchObject({ reason: 'put on hold by the script', since: expect.any(String) as string });
  const seen: unknown[] = [];
  // Before each try, before each probe, and without an owner.
  fixture.broker.before = async () => void seen.push(await shown());
  probe = async () => {
    seen.push(await shown());
    return away();
  };
  for (const end of [ways.deadline, ways.death, ways.error, ways.stop]) {
    const before = seen.length;
    await end();
    expect(seen.length).toBeGreaterThan(before);
    seen.push(await shown());
  }
  expect(seen).toEqual(Array(seen.length).fill(first));
  expect((await fixture.row('A')).attempts).toBe(0);
});

test('a batch that an owner gives up to stop puts its lane on no hold', {
  tags: ['hold-as-old-as-its-cause'],
}, async () => {
  const stop = new AbortController();
  fixture.broker.before = async () => stop.abort();
  expect(await fixture.drain({ signal: stop.signal })).toBe('more');
  expect(fixture.broker.batches).toHaveLength(1);
  expect(await shown()).toBeNull();
  expect(fixture.events.filter(({ type }) => type === 'hold-began')).toEqual([]);
});

test('a hold is as old as its cause in the figures, and in what the owner reports that ends it', {
  tags: ['hold-as-old-as-its-cause'],
}, async () => {
  await ways.stop();
  await fixture.database.query(
    `update outbox.lane set hold = hold || jsonb_build_object('since', clock_timestamp() - interval '1 hour')`,
  );
  await ways.stop();
  const [hold] = (await readFigures(fixture.database)).holds;
  expect(hold?.heldMs).toBeGreaterThanOrEqual(3_600_000);

  fixture.broker.judge = () => 'store';
  await fixture.drain();
  expect(await shown()).toBeNull();
  const parts = fixture.events.flatMap((event) => (event.type === 'hold-ended' ? [event] : []));
  expect(parts.map(({ over }) => over)).toEqual([false, false, true]);
  expect(parts.map(({ lastedMs }) => lastedMs >= 3_600_000)).toEqual([false, true, true]);
});

test.each([
  ['stored', 'store'],
  ['refused', 'reject'],
] as const)(
  'without a relay a hold stays, and the next owner ends it as soon as a message is %s',
  { tags: ['hold-as-old-as-its-cause'] },
  async (_, verdict) => {
    await fixture.send('B');
    await ways.stop();
    fixture.broker.judge = () => verdict;
    const before: unknown[] = [];
    fixture.broker.before = async () => void before.push(await shown());
    await fixture.drain({ batch: { messages: 1 } });

    expect(before).toEqual([expect.objectContaining({ scope: 'topic' }), null]);
    expect(fixture.events.flatMap((event) => (event.type === 'hold-ended' ? [event.over] : []))).toEqual([
      false,
      true,
    ]);
  },
);

test('a hold for which nothing waits any more is not shown, and gets its lane an owner, which ends it without a try', {
  tags: ['hold-as-old-as-its-cause'],
}, async () => {
  const told = async (): Promise<readonly number[]> => [
    (await readFigures(fixture.database)).holds.length,
    (await readLaneFacts(fixture.database)).filter(({ hold }) => hold !== null).length,
  ];
  await ways.stop();
  expect(await told()).toEqual([1, 1]);
  const operator = operatorAt(fixture);
  expect(await operator.withdraw(operator.of('A'), ada)).toMatchObject([{ result: 'canceled' }]);
  await operator.close();
  expect(await told()).toEqual([0, 0]);
  expect(await wanted()).toMatchObject([{ topic: 'orders', lane: 0 }]);
  const tries = fixture.broker.batches.length;
  await fixture.drain();
  expect(await shown()).toBeNull();
  expect(fixture.events.at(-2)).toMatchObject({ type: 'hold-ended', over: true });
  expect(fixture.broker.batches).toHaveLength(tries);
  expect(await wanted()).toEqual([]);
});

test('a hold is shown everywhere while a message is due that nobody has released', {
  tags: ['hold-as-old-as-its-cause'],
}, async () => {
  await ways.stop();
  await fixture.database.query(
    `select outbox.take_out(array(select id from outbox.message));
     update only outbox.message set state = 'retrying', due_at = outbox.clock() - interval '1 second'`,
  );
  expect((await readFigures(fixture.database)).holds).toHaveLength(1);
  expect(await readLaneFacts(fixture.database)).toMatchObject([{ hold: { scope: 'topic' } }]);
});

test('a paused topic is on no hold, and goes on with the one that it had when it is resumed', {
  tags: ['hold-as-old-as-its-cause'],
}, async () => {
  const holds = async () => (await readFigures(fixture.database)).holds.length;
  const pause = (paused: boolean) => fixture.database.query('update outbox.topic set paused = $1', [paused]);
  await ways.stop();
  const before = await shown();
  expect(await holds()).toBe(1);
  await pause(true);
  expect(await holds()).toBe(0);
  expect((await readLaneFacts(fixture.database)).map(({ hold }) => hold)).toEqual([]);
  expect(await fixture.drain()).toBe('quiet');
  await pause(false);
  expect(await holds()).toBe(1);
  await ways.stop();
  expect(await shown()).toEqual(before);
});

test('an operator who withdraws a message from a lane on hold changes nothing of the hold', {
  tags: ['hold-as-old-as-its-cause'],
}, async () => {
  await fixture.send('B');
  const stop = new AbortController();
  const relay = async (): Promise<void> => {
    while (!stop.signal.aborted) await fixture.drain({ signal: stop.signal });
  };
  const running = relay();
  await until(async () => (await shown()) !== null);
  const before = await shown();
  const tries = fixture.broker.batches.length;
  const operator = operatorAt(fixture);
  expect(await operator.withdraw(operator.of('A'), ada)).toMatchObject([{ result: 'canceled' }]);
  await operator.close();
  await until(() => fixture.broker.batches.length > tries);
  stop.abort();
  await running;
  expect(await shown()).toEqual(before);
});
