import { afterEach, beforeEach, expect, test } from 'vitest';
import { type LaneBench, laneBench } from '../support/fixtures/lane-bench.ts';
import { ada, auditOf, failAll, failHead, type Operator, operatorAt } from '../support/fixtures/operator.ts';
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

/** A bench whose failed messages keep their keys. */
async function holdingBench(): Promise<void> {
  await operator.close();
  await bench.drop();
  bench = await laneBench({ exhausted: 'hold-key' });
  operator = operatorAt(bench);
}

test('a failed message that is retried goes again, and its tries start again', async () => {
  await failAll(bench, ['A']);

  const answers = await operator.retry(operator.of('A'), ada);
  expect(answers).toMatchObject([
    { id: bench.idOf('A'), result: 'retried', state: 'ready', topic: 'orders' },
  ]);
  expect(await bench.row('A')).toMatchObject({ state: 'ready', attempts: 0 });
  await bench.drain();

  expect(bench.broker.labels).toEqual(['A']);
  expect(await bench.states('A')).toEqual(['published']);
  expect(await auditOf(bench)).toEqual([
    {
      ...ada,
      action: 'retry',
      id: bench.idOf('A'),
      topic: 'orders',
      result: 'retried',
      details: { from: 'failed', attempts: 1, sends: 0 },
    },
  ]);
});

test('a retrying message that is retried goes now, and keeps the count of its tries', async () => {
  bench.broker.judge = () => 'reject';
  await bench.send('A');
  await bench.drain();
  bench.broker.judge = () => 'store';

  expect(await operator.retry(operator.of('A'), ada)).toMatchObject([{ result: 'retried' }]);
  expect((await bench.row('A')).attempts).toBe(1);
  await bench.drain();

  expect(await bench.states('A')).toEqual(['published']);
});

test('a retried message that held its key goes before its held followers, and before what is sent meanwhile', async () => {
  await holdingBench();
  await failHead(bench);

  await operator.retry(operator.of('K1'), ada);
  await bench.send('K4', { key: 'K' });
  await bench.drain();

  expect(bench.broker.labels).toEqual(['K1', 'K2', 'K3', 'K4']);
});

test('a retried message goes first also when its lane is drained one message at a time', async () => {
  await holdingBench();
  await failHead(bench);

  await operator.retry(operator.of('K1'), ada);
  await bench.drain({ batch: { messages: 1 } });

  expect(bench.broker.labels).toEqual(['K1', 'K2', 'K3']);
});

test('a retried message that fails again holds its followers again', async () => {
  await holdingBench();
  await failHead(bench);
  bench.broker.judge = (message) => (labelOf(message) === 'K1' ? 'permanent' : 'store');

  await operator.retry(operator.of('K1'), ada);
  await bench.drain();

  expect(bench.broker.labels).toEqual([]);
  expect(await bench.states('K1', 'K2', 'K3')).toEqual(['failed', 'held', 'held']);
});

test('a retry does not forget that a broker may hold the message', async () => {
  bench.broker.judge = () => 'lose';
  await bench.send('A');
  await bench.drain();
  bench.broker.judge = () => 'reject';
  await operator.retry(operator.of('A'), ada);
  await bench.drain();

  expect(await operator.cancel(operator.of('A'), ada)).toMatchObject([
    { result: 'too-late', state: 'retrying' },
  ]);
});

test('only failed and retrying messages can be retried', async () => {
  await bench.send('published');
  await bench.drain();
  await bench.send('waiting', { afterMs: 60_000 });
  const nobody = '00000000-0000-4000-8000-000000000000';

  const { ids } = operator.of('published', 'waiting');
  expect(await operator.retry({ ids: [...ids, nobody] }, ada)).toMatchObject([
    { result: 'too-late', state: 'published' },
    { result: 'too-late', state: 'waiting' },
    { id: nobody, result: 'unknown', state: null, topic: null },
  ]);
  const audit = await auditOf(bench);
  expect(audit.map(({ id }) => id)).toEqual([...ids, nobody]);
  expect(audit.map(({ result }) => result)).toEqual(['too-late', 'too-late', 'unknown']);
});

test('of many operators who retry the same messages at once, one does each', async () => {
  const labels = [...Array(20).keys()].map((n) => `A${n}`);
  await failAll(bench, labels);
  const { ids } = operator.of(...labels);

  const answers = await Promise.all([
    operator.retry({ ids }, ada),
    operator.retry({ ids: ids.toReversed() }, { actor: 'bob' }),
    operator.retry({ ids }, { actor: 'eve' }),
  ]);

  for (const id of ids) {
    const results = answers.flatMap((some) => some.filter((answer) => answer.id === id));
    // On a slow machine some may have waited for the others for two seconds in vain.
    expect(results.map(({ result }) => result.replace('busy', 'too-late')).toSorted()).toEqual([
      'retried',
      'too-late',
      'too-late',
    ]);
  }
  await bench.drain();
  expect(bench.broker.log).toHaveLength(labels.length);
});

test('an open business transaction does not freeze an operator: its message is busy, and others are done', async () => {
  await failAll(bench, ['A', 'B']);
  const business = await bench.begin();
  await business.query('select from outbox.message where id = $1 for update', [bench.idOf('A')]);

  const answers = await operator.retry(operator.of('A', 'B'), ada);

  expect(answers).toMatchObject([
    { id: bench.idOf('A'), result: 'busy', state: 'failed' },
    { id: bench.idOf('B'), result: 'retried', state: 'ready' },
  ]);
  expect((await auditOf(bench)).map(({ result }) => result)).toEqual(['retried', 'busy']);
  await business.rollback();
});

test('a discarded message is never sent, and frees the key that it held', async () => {
  await holdingBench();
  await failHead(bench);

  expect(await operator.discard(operator.of('K1', 'K2'), ada)).toMatchObject([
    { result: 'discarded', state: 'discarded' },
    { result: 'too-late', state: 'held' },
  ]);
  await bench.drain();

  expect(bench.broker.labels).toEqual(['K2', 'K3']);
  expect(await operator.retry(operator.of('K1'), ada)).toMatchObject([{ result: 'too-late' }]);
});

test('a dry run answers what would happen, and writes nothing', async () => {
  await failAll(bench, ['A']);
  const dry = { ...ada, dryRun: true };

  expect(await operator.retry(operator.of('A'), dry)).toMatchObject([{ result: 'retried', state: 'ready' }]);
  expect(await operator.discard(operator.of('A'), dry)).toMatchObject([{ result: 'discarded' }]);
  await operator.edit(bench.idOf('A'), { ...dry, payload: 1 });

  expect(await bench.states('A')).toEqual(['failed']);
  expect(await auditOf(bench)).toEqual([]);
});
