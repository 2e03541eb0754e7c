import { afterEach, expect, test } from 'vitest';
import { tail } from '../../../src/operations/messages/tail.ts';
import type { MessageFilter } from '../../../src/operations.ts';
import { storeMessages } from '../../../src/store/message/write.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { ada, type Operator, ownOperator } from '../../support/fixtures/operator.ts';
import { until } from '../../support/fixtures/until.ts';
import { labelOf } from '../../support/kafka/scripted-broker.ts';

let fixture: LaneFixture;
let operator: Operator;
/** Ends the tails of the test. */
let ends: (() => Promise<void>)[] = [];
eachLane((made) => {
  fixture = made;
  operator = ownOperator(made);
});
afterEach(async () => {
  await Promise.all(ends.map((end) => end()));
  ends = [];
});

/** A tail that runs until its test ends, and what it has told: `<label> <state> <tries>`. It has begun when this resolves. */
async function following(filter: MessageFilter = {}) {
  const stop = new AbortController();
  const told: string[] = [];
  const gaps: boolean[] = [];
  const labels = new Map<string, string>();
  const know = (...names: readonly string[]): void => {
    for (const name of names) labels.set(fixture.idOf(name), name);
  };
  let looks = 0;
  const seen = tail((work) => work(fixture.database).finally(() => (looks += 1)), filter, {
    signal: stop.signal,
    interval: 100,
  });
  const ended = (async () => {
    for await (const { id, state, attempts, gap } of seen) {
      told.push(`${labels.get(id) ?? id} ${state} ${attempts}`);
      gaps.push(gap);
    }
  })();
  ends.push(() => {
    stop.abort();
    return ended;
  });
  await until(() => looks > 0);
  return {
    told,
    gaps,
    know,
    /** Waits until a look that begins now has ended, and one more. */
    looked: async () => {
      const before = looks;
      await until(() => looks >= before + 2);
    },
  };
}

test('tail tells each new message once, and again when its state or its tries change, however its row shows it', {
  tags: ['tail-omits-nothing-silently'],
}, async () => {
  fixture.broker.judge = (message) => (labelOf(message) === 'R' ? 'reject' : 'store');
  await fixture.send('before');
  await fixture.drain();
  const { told, know, looked } = await following();

  await fixture.send('A');
  await fixture.send('R', { key: 'K' });
  await fixture.send('B', { key: 'K' });
  await fixture.send('W', { afterMs: 3_600_000 });
  know('A', 'R', 'B', 'W');
  await looked();
  expect(told.splice(0)).toEqual(['A ready 0', 'R ready 0', 'B ready 0', 'W waiting 0']);

  await fixture.drain();
  await looked();
  expect(told.splice(0).toSorted(), 'passed by its lane, and taken out of the log').toEqual([
    'A published 0',
    'B blocked 0',
    'R retrying 1',
  ]);

  fixture.broker.judge = () => 'store';
  await operator.cancel(operator.of('W'), ada);
  await operator.retry(operator.of('R'), ada);
  await fixture.drain();
  await until(() => told.includes('B published 0'));
  await looked();
  expect(told, 'nothing of what was there before, and nothing twice').toEqual(
    expect.arrayContaining(['W canceled 0', 'R published 1', 'B published 0']),
  );
  expect(new Set(told).size).toBe(told.length);
  expect(told.join()).not.toContain(fixture.idOf('before'));
});

test('tail finds what an older transaction commits late', {
  tags: ['tail-omits-nothing-silently'],
}, async () => {
  const late = await fixture.begin();
  await fixture.send('late', {}, late);
  const { told, know, looked } = await following();
  await fixture.send('A');
  know('A', 'late');
  await looked();
  expect(told).toEqual(['A ready 0']);

  await late.commit();
  await looked();
  expect(told).toEqual(['A ready 0', 'late ready 0']);
});

test('a filter by state tells a message when it comes into that state, also one that was stored before', async () => {
  await fixture.send('old');
  const { told, know, looked } = await following({ states: ['failed'], topic: 'orders' });
  fixture.broker.judge = (message) => (labelOf(message) === 'old' ? 'store' : 'permanent');
  for (const label of ['bad', 'good']) {
    await fixture.send(label);
    // Before it can be told.
    know(label);
    await fixture.drain();
  }
  await until(() => told.length >= 2);
  await looked();

  expect(told).toEqual(['bad failed 1', 'good failed 1']);
});

test('other topics, keys and refs are not told', async () => {
  const { told, know, looked } = await following({ topic: 'orders', key: 'K' });
  await fixture.send('other', { key: 'L' });
  await fixture.send('mine', { key: 'K' });
  await storeMessages(fixture.database, 'returns', [{ payload: '1', key: 'K' }]);
  know('other', 'mine');
  await looked();

  expect(told).toEqual(['mine ready 0']);
});

test('more than a look tells, or than a tail can follow, is marked as a gap', {
  tags: ['tail-omits-nothing-silently'],
}, async () => {
  const { told, gaps, looked } = await following();
  const send = (count: number, options: { readonly afterMs?: number }) =>
    storeMessages(
      fixture.database,
      'orders',
      Array.from({ length: count }, (_, n) => ({ ...options, payload: String(n) })),
    );
  await send(1_001, { afterMs: 3_600_000 });
  await looked();
  expect(told).toHaveLength(1_000);
  expect(gaps.splice(0).indexOf(true)).toBe(0);

  await send(500, {});
  await looked();
  expect(gaps.splice(0), 'as many as it follows').toEqual(Array.from({ length: 500 }, () => false));
  await send(1, {});
  await looked();
  expect(gaps).toEqual([true]);
});

test('tail begins with the newest messages, asks at most once per interval, and ends with its signal', async () => {
  for (const label of ['A', 'B', 'C']) await fixture.send(label);
  await fixture.drain();
  const stop = new AbortController();
  let looks = 0;
  const startedAt = performance.now();
  const seen = tail(
    (work) => work(fixture.database).finally(() => (looks += 1)),
    {},
    {
      signal: stop.signal,
      interval: '200ms',
      last: 2,
    },
  );
  const told: string[] = [];
  const ended = (async () => {
    for await (const { id } of seen) told.push(id);
  })();
  await until(() => looks >= 6);
  const lastedMs = performance.now() - startedAt;
  stop.abort();
  await ended;

  expect(told).toEqual([fixture.idOf('B'), fixture.idOf('C')]);
  // The first two are the beginning: where to begin, and the newest messages.
  expect(lastedMs).toBeGreaterThan(4 * 190);
});

test('options that are none are refused', async () => {
  for (const options of [{ interval: 50 }, { last: 201 }, { every: '1s' }])
    await expect(async () => {
      for await (const _ of operator.tail({}, options)) break;
    }).rejects.toMatchObject({ code: 'OUTBOX_OPTION_INVALID' });
});
