import { afterEach, beforeEach, expect, test } from 'vitest';
import { pauseIfRunning, resumeOwn } from '../../src/store/lane/pause.ts';
import { MortalDatabase, ProcessDied } from '../support/faults/mortal-database.ts';
import { gate } from '../support/fixtures/gate.ts';
import { type LaneBench, laneBench } from '../support/fixtures/lane-bench.ts';
import { ada, auditOf, type Operator, operatorAt } from '../support/fixtures/operator.ts';
import { until } from '../support/fixtures/until.ts';
import { labelOf } from '../support/kafka/scripted-broker.ts';

let bench: LaneBench;
let operator: Operator;
beforeEach(async () => {
  bench = await laneBench();
  operator = operatorAt(bench);
});
afterEach(async () => {
  await operator.close();
  await bench.drop();
});

/** Results by label. */
async function withdraw(...labels: readonly string[]): Promise<readonly string[]> {
  return (await operator.withdraw(operator.of(...labels), ada)).map(({ result }) => result);
}

async function isPaused(): Promise<boolean> {
  const [row] = await bench.database.query<{ paused: boolean }>('select paused from outbox.topic');
  return row?.paused ?? false;
}

test('a ready message that no relay has in hand is withdrawn, and never sent', async () => {
  await bench.send('A');
  await bench.send('B');

  expect(await operator.withdraw(operator.of('A'), ada)).toMatchObject([
    { result: 'canceled', state: 'canceled' },
  ]);
  await bench.drain();

  expect(bench.broker.labels).toEqual(['B']);
  expect(await auditOf(bench), 'nobody had to be paused').toMatchObject([
    { ...ada, action: 'withdraw', id: bench.idOf('A'), topic: 'orders', result: 'canceled' },
  ]);
});

test('what waits, retries or is held is withdrawn like a cancel', async () => {
  bench.broker.judge = (message) => (labelOf(message) === 'retrying' ? 'reject' : 'store');
  await bench.send('retrying', { key: 'K' });
  await bench.send('held', { key: 'K' });
  await bench.send('waiting', { afterMs: 60_000 });
  await bench.drain();
  expect(await bench.states('retrying', 'held', 'waiting')).toEqual(['retrying', 'held', 'waiting']);

  expect(await withdraw('retrying', 'held', 'waiting')).toEqual(['canceled', 'canceled', 'canceled']);
});

test('what was published, or may have been, is too late', async () => {
  await bench.send('published');
  await bench.drain();
  bench.broker.judge = () => 'lose';
  await bench.send('ambiguous');
  await bench.drain();
  bench.broker.judge = () => 'hold-on-wire';
  bench.broker.probe = () => {
    bench.broker.judge = () => 'hold';
    bench.broker.reachable = false;
    return Promise.resolve();
  };
  await bench.send('put back');
  const stop = new AbortController();
  const draining = bench.drain({ signal: stop.signal });
  await until(async () => (await bench.laneRow()).hold !== null);
  stop.abort();
  await draining;
  expect(await bench.states('published', 'ambiguous', 'put back')).toEqual([
    'published',
    'retrying',
    'ready',
  ]);

  expect(await withdraw('published', 'ambiguous', 'put back')).toEqual(['too-late', 'too-late', 'too-late']);
});

test('while a relay is sending, the topic is paused, and what the relay sent is too late and the rest is canceled', async () => {
  const sending = gate();
  bench.broker.before = () => sending.opened;
  await bench.send('A');
  const draining = bench.drain({ batch: { messages: 1 } });
  await until(() => bench.broker.batches.length === 1);
  await bench.send('B');
  const withdrawing = withdraw('A', 'B');
  await until(isPaused);
  sending.open();

  expect(await withdrawing).toEqual(['too-late', 'canceled']);
  await draining;
  expect(await isPaused(), 'resumed').toBe(false);
  await bench.drain();
  expect(bench.broker.labels).toEqual(['A']);
  expect((await auditOf(bench)).map(({ action, result }) => `${action} ${result}`).toSorted()).toEqual([
    'pause done',
    'resume done',
    'withdraw canceled',
    'withdraw too-late',
  ]);
});

test('a topic that somebody had paused before stays paused', async () => {
  await operator.pause({ topic: 'orders' }, ada);
  await bench.send('A');

  expect(await withdraw('A')).toEqual(['canceled']);

  expect(await isPaused()).toBe(true);
});

test('a topic that somebody pauses while a withdraw has it paused stays paused', async () => {
  const own = await pauseIfRunning(bench.database, 'orders', ada, { for: 'withdraw' });
  if (own === undefined) throw new Error('It was running.');
  await operator.pause({ topic: 'orders' }, { actor: 'bob' });

  await resumeOwn(bench.database, 'orders', own, ada);

  expect(await isPaused()).toBe(true);
  expect((await auditOf(bench)).at(-1)).toMatchObject({ action: 'resume', result: 'left-paused' });
});

test('a relay that does not let go in time leaves its messages busy, and the topic as it was', async () => {
  const sending = gate();
  bench.broker.before = () => sending.opened;
  await bench.send('A');
  const draining = bench.drain();
  await until(() => bench.broker.batches.length === 1);

  expect(await operator.withdraw(operator.of('A'), { ...ada, withinMs: 200 })).toMatchObject([
    { result: 'busy', state: 'ready' },
  ]);
  expect(await isPaused()).toBe(false);
  sending.open();
  await draining;
  expect(await bench.states('A')).toEqual(['published']);
});

test('what an owner that died may have published is too late, and what was sent after the takeover is not', async () => {
  for (const label of ['A', 'B', 'C']) await bench.send(label);
  const database = new MortalDatabase(bench.database);
  bench.broker.after = () => database.kill();
  await expect(bench.drain({ database, batch: { messages: 2 } })).rejects.toBeInstanceOf(ProcessDied);
  bench.broker.after = () => undefined;
  await bench.lapse();

  expect(await withdraw('A')).toEqual(['too-late']);
  await bench.send('later');
  expect(await withdraw('B', 'C', 'later')).toEqual(['too-late', 'too-late', 'canceled']);
  expect(await bench.laneRow(), 'the suspicion is left to the next owner').toMatchObject({
    owner: null,
    suspect: expect.any(String),
  });
  await bench.drain();
  expect(bench.broker.labels).toEqual(['A', 'B', 'A', 'B', 'C']);
});

test('an operator who dies with the lane in hand leaves nothing worse than a pause, and nothing unsure is canceled', async () => {
  const sending = gate();
  bench.broker.before = () => sending.opened;
  await bench.send('A');
  const draining = bench.drain();
  await until(() => bench.broker.batches.length === 1);
  // The pause of an operator whose process ends there.
  await pauseIfRunning(bench.database, 'orders', ada, { for: 'withdraw' });
  sending.open();
  await draining;
  await bench.send('B');
  await bench.database.query(
    `update outbox.lane set owner = gen_random_uuid(), alive_until = clock_timestamp()`,
  );

  expect((await operator.status()).topics).toMatchObject([{ name: 'orders', paused: true }]);
  expect(await withdraw('B')).toEqual(['too-late']);
  await operator.resume({ topic: 'orders' }, ada);
  await bench.drain();
  expect(bench.broker.labels).toEqual(['A', 'B']);
});

test('a message of a topic that no relay has announced can be withdrawn', async () => {
  await bench.database.query('delete from outbox.lane');
  await bench.database.query('delete from outbox.topic');
  await bench.send('A');

  expect(await withdraw('A')).toEqual(['canceled']);
});

test('a dry run answers what would happen, and neither pauses nor takes the lane', async () => {
  await bench.send('published');
  await bench.drain();
  await bench.send('A');
  await bench.send('waiting', { afterMs: 60_000 });
  const lane = await bench.laneRow();

  const answers = await operator.withdraw(operator.of('published', 'A', 'waiting'), { ...ada, dryRun: true });

  expect(answers.map(({ result }) => result)).toEqual(['too-late', 'canceled', 'canceled']);
  expect(await bench.laneRow()).toEqual(lane);
  expect(await bench.states('A', 'waiting')).toEqual(['ready', 'waiting']);
  expect(await auditOf(bench)).toEqual([]);
});
