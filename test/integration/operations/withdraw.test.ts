import { expect, test } from 'vitest';
import { pauseIfRunning, resumeOwn } from '../../../src/store/lane/pause.ts';
import { MortalDatabase, ProcessDied } from '../../support/faults/mortal-database.ts';
import { gate } from '../../support/fixtures/gate.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { untilLockWaits } from '../../support/fixtures/lock-waits.ts';
import { ada, auditOf, type Operator, ownOperator } from '../../support/fixtures/operator.ts';
import { until } from '../../support/fixtures/until.ts';
import { labelOf } from '../../support/kafka/scripted-broker.ts';

let fixture: LaneFixture;
let operator: Operator;
eachLane((made) => {
  fixture = made;
  operator = ownOperator(made);
});

/** Results by label. */
async function withdraw(...labels: readonly string[]): Promise<readonly string[]> {
  return (await operator.withdraw(operator.of(...labels), ada)).map(({ result }) => result);
}

async function isPaused(): Promise<boolean> {
  const [row] = await fixture.database.query<{ paused: boolean }>('select paused from outbox.topic');
  return row?.paused ?? false;
}

test('a ready message that no relay has in hand is withdrawn and never sent', async () => {
  await fixture.send('A');
  await fixture.send('B');

  expect(await operator.withdraw(operator.of('A'), ada)).toMatchObject([
    { result: 'canceled', state: 'canceled' },
  ]);
  await fixture.drain();

  expect(fixture.broker.labels).toEqual(['B']);
  expect(await auditOf(fixture), 'nobody had to be paused').toMatchObject([
    { ...ada, action: 'withdraw', id: fixture.idOf('A'), topic: 'orders', result: 'canceled' },
  ]);
});

test('withdrawing a waiting, retrying or blocked message is a cancel', async () => {
  fixture.broker.judge = (message) => (labelOf(message) === 'retrying' ? 'reject' : 'store');
  await fixture.send('retrying', { key: 'K' });
  await fixture.send('blocked', { key: 'K' });
  await fixture.send('waiting', { afterMs: 60_000 });
  await fixture.drain();
  expect(await fixture.states('retrying', 'blocked', 'waiting')).toEqual(['retrying', 'blocked', 'waiting']);

  expect(await withdraw('retrying', 'blocked', 'waiting')).toEqual(['canceled', 'canceled', 'canceled']);
});

test('withdrawing messages that were or may have been published is too late', async () => {
  await fixture.send('published');
  await fixture.drain();
  fixture.broker.judge = () => 'lose';
  await fixture.send('ambiguous');
  await fixture.drain();
  fixture.broker.judge = () => 'hold-on-wire';
  fixture.broker.probe = () => {
    fixture.broker.judge = () => 'hold';
    fixture.broker.reachable = false;
    return Promise.resolve();
  };
  await fixture.send('put back');
  const stop = new AbortController();
  const draining = fixture.drain({ signal: stop.signal });
  await until(async () => (await fixture.laneRow()).hold !== null);
  stop.abort();
  await draining;
  expect(await fixture.states('published', 'ambiguous', 'put back')).toEqual([
    'published',
    'retrying',
    'ready',
  ]);

  expect(await withdraw('published', 'ambiguous', 'put back')).toEqual(['too-late', 'too-late', 'too-late']);
});

test('while a relay is sending, the topic is paused: messages that it sent are too late, the rest are canceled', async () => {
  const sending = gate();
  fixture.broker.before = () => sending.opened;
  await fixture.send('A');
  const draining = fixture.drain({ batch: { messages: 1 } });
  await until(() => fixture.broker.batches.length === 1);
  await fixture.send('B');
  const withdrawing = withdraw('A', 'B');
  await until(isPaused);
  sending.open();

  expect(await withdrawing).toEqual(['too-late', 'canceled']);
  await draining;
  expect(await isPaused(), 'resumed').toBe(false);
  await fixture.drain();
  expect(fixture.broker.labels).toEqual(['A']);
  expect((await auditOf(fixture)).map(({ action, result }) => `${action} ${result}`).toSorted()).toEqual([
    'pause done',
    'resume done',
    'withdraw canceled',
    'withdraw too-late',
  ]);
});

test('a topic that an operator pauses during a withdraw stays paused', async () => {
  const own = await pauseIfRunning(fixture.database, 'orders', ada, { for: 'withdraw' });
  if (own === undefined) throw new Error('It was running.');
  await operator.pause({ topic: 'orders' }, { actor: 'bob' });

  await resumeOwn(fixture.database, 'orders', own, ada);

  expect(await isPaused()).toBe(true);
  expect((await auditOf(fixture)).at(-1)).toMatchObject({ action: 'resume', result: 'left-paused' });
});

test('a withdraw that waits for the pause of an operator does not take it for its own', {
  tags: ['withdrawal-leaves-no-pause'],
}, async () => {
  const bob = await fixture.begin();
  await bob.query(`update outbox.topic set paused = true where name = 'orders'`);
  const own = pauseIfRunning(fixture.database, 'orders', ada, { for: 'withdraw' });
  await untilLockWaits(fixture.database, 1);
  await bob.commit();

  expect(await own).toBeUndefined();
  expect(await isPaused()).toBe(true);
});

test('a relay that does not free the lane in time leaves its messages busy and the topic unpaused', async () => {
  const sending = gate();
  fixture.broker.before = () => sending.opened;
  await fixture.send('A');
  const draining = fixture.drain();
  await until(() => fixture.broker.batches.length === 1);

  expect(await operator.withdraw(operator.of('A'), { ...ada, timeout: 200 })).toMatchObject([
    { result: 'busy', state: 'ready' },
  ]);
  expect(await isPaused()).toBe(false);
  sending.open();
  await draining;
  expect(await fixture.states('A')).toEqual(['published']);
});

test('messages that a dead owner may have published are too late, those sent after the takeover are not', async () => {
  for (const label of ['A', 'B', 'C']) await fixture.send(label);
  const database = new MortalDatabase(fixture.database);
  fixture.broker.after = () => database.kill();
  await expect(fixture.drain({ database, batch: { messages: 2 } })).rejects.toBeInstanceOf(ProcessDied);
  fixture.broker.after = () => undefined;
  await fixture.lapse();

  expect(await withdraw('A')).toEqual(['too-late']);
  await fixture.send('later');
  expect(await withdraw('B', 'C', 'later')).toEqual(['too-late', 'too-late', 'canceled']);
  expect(await fixture.laneRow(), 'the suspicion is left to the next owner').toMatchObject({
    owner: null,
    suspect: expect.any(String),
  });
  await fixture.drain();
  expect(fixture.broker.labels).toEqual(['A', 'B', 'A', 'B', 'C']);
});

test('an operator that dies while owning the lane leaves at most a pause, and nothing uncertain is canceled', async () => {
  const sending = gate();
  fixture.broker.before = () => sending.opened;
  await fixture.send('A');
  const draining = fixture.drain();
  await until(() => fixture.broker.batches.length === 1);
  // The pause of an operator whose process ends there.
  await pauseIfRunning(fixture.database, 'orders', ada, { for: 'withdraw' });
  sending.open();
  await draining;
  await fixture.send('B');
  await fixture.database.query(
    `update outbox.lane set owner = gen_random_uuid(), alive_until = clock_timestamp()`,
  );

  expect((await operator.status()).topics).toMatchObject([{ name: 'orders', paused: true }]);
  expect(await withdraw('B')).toEqual(['too-late']);
  await operator.resume({ topic: 'orders' }, ada);
  await fixture.drain();
  expect(fixture.broker.labels).toEqual(['A', 'B']);
});

test.each([
  ['of an unannounced topic', 'delete from outbox.lane', 'canceled'],
  [
    'of a dead owner',
    `update outbox.lane set owner = gen_random_uuid(), alive_until = '-infinity'`,
    'too-late',
  ],
  ['of another incarnation', `update outbox.lane set incarnation = '-infinity'`, 'too-late'],
])(
  'a dry run answers for the lane %s what the withdrawal does',
  { tags: ['cancel-holds'] },
  async (_whose, setUp, result) => {
    await fixture.database.query(setUp);
    await fixture.send('A');

    const rehearsed = await operator.withdraw(operator.of('A'), { ...ada, dryRun: true });
    expect(rehearsed).toMatchObject([{ result }]);
    expect(await withdraw('A')).toEqual([result]);
  },
);

test('a dry run answers what would happen, and neither pauses nor takes the lane', async () => {
  await fixture.send('published');
  await fixture.drain();
  await fixture.send('A');
  await fixture.send('waiting', { afterMs: 60_000 });
  const lane = await fixture.laneRow();

  const answers = await operator.withdraw(operator.of('published', 'A', 'waiting'), { ...ada, dryRun: true });

  expect(answers.map(({ result }) => result)).toEqual(['too-late', 'canceled', 'canceled']);
  expect(await fixture.laneRow()).toEqual(lane);
  expect(await fixture.states('A', 'waiting')).toEqual(['ready', 'waiting']);
  expect(await auditOf(fixture)).toEqual([]);
});
