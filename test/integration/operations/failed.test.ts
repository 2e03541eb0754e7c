import { expect, test } from 'vitest';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import {
  ada,
  auditOf,
  failAll,
  failHead,
  type Operator,
  ownOperator,
} from '../../support/fixtures/operator.ts';
import { labelOf } from '../../support/kafka/scripted-broker.ts';

let fixture: LaneFixture;
let operator: Operator;
eachLane((made) => {
  fixture = made;
  operator = ownOperator(made);
});

/** A fixture whose failed messages keep their keys. */
async function holdingFixture(): Promise<void> {
  fixture = await fixture.renewed({ exhausted: 'block-key' });
  operator = ownOperator(fixture);
}

test('a failed message that is retried is sent again, with all its attempts', async () => {
  await failAll(fixture, ['A']);

  const answers = await operator.retry(operator.of('A'), ada);
  expect(answers).toMatchObject([
    { id: fixture.idOf('A'), result: 'retried', state: 'ready', topic: 'orders' },
  ]);
  expect(await fixture.row('A')).toMatchObject({ state: 'ready', attempts: 0 });
  await fixture.drain();

  expect(fixture.broker.labels).toEqual(['A']);
  expect(await fixture.states('A')).toEqual(['published']);
  expect(await auditOf(fixture)).toEqual([
    {
      ...ada,
      action: 'retry',
      id: fixture.idOf('A'),
      topic: 'orders',
      result: 'retried',
      details: { from: 'failed', attempts: 1, sends: 0 },
    },
  ]);
});

test('a retrying message that is retried is sent at once and keeps its count of attempts', async () => {
  fixture.broker.judge = () => 'reject';
  await fixture.send('A');
  await fixture.drain();
  fixture.broker.judge = () => 'store';

  expect(await operator.retry(operator.of('A'), ada)).toMatchObject([{ result: 'retried' }]);
  expect((await fixture.row('A')).attempts).toBe(1);
  await fixture.drain();

  expect(await fixture.states('A')).toEqual(['published']);
});

test('a retried message that blocked its key goes before its blocked followers and later messages', async () => {
  await holdingFixture();
  await failHead(fixture);

  await operator.retry(operator.of('K1'), ada);
  await fixture.send('K4', { key: 'K' });
  await fixture.drain();

  expect(fixture.broker.labels).toEqual(['K1', 'K2', 'K3', 'K4']);
});

test('a retried message also goes first when its lane is drained one message at a time', async () => {
  await holdingFixture();
  await failHead(fixture);

  await operator.retry(operator.of('K1'), ada);
  await fixture.drain({ batch: { messages: 1 } });

  expect(fixture.broker.labels).toEqual(['K1', 'K2', 'K3']);
});

test('a retried message that fails again blocks its followers again', async () => {
  await holdingFixture();
  await failHead(fixture);
  fixture.broker.judge = (message) => (labelOf(message) === 'K1' ? 'permanent' : 'store');

  await operator.retry(operator.of('K1'), ada);
  await fixture.drain();

  expect(fixture.broker.labels).toEqual([]);
  expect(await fixture.states('K1', 'K2', 'K3')).toEqual(['failed', 'blocked', 'blocked']);
});

test('a retry keeps the mark that the broker may have the message', async () => {
  fixture.broker.judge = () => 'lose';
  await fixture.send('A');
  await fixture.drain();
  fixture.broker.judge = () => 'reject';
  await operator.retry(operator.of('A'), ada);
  await fixture.drain();

  expect(await operator.cancel(operator.of('A'), ada)).toMatchObject([
    { result: 'too-late', state: 'retrying' },
  ]);
});

test('only failed and retrying messages can be retried', async () => {
  await fixture.send('published');
  await fixture.drain();
  await fixture.send('waiting', { afterMs: 60_000 });
  const nobody = '00000000-0000-4000-8000-000000000000';

  const { ids } = operator.of('published', 'waiting');
  expect(await operator.retry({ ids: [...ids, nobody] }, ada)).toMatchObject([
    { result: 'too-late', state: 'published' },
    { result: 'too-late', state: 'waiting' },
    { id: nobody, result: 'unknown', state: null, topic: null },
  ]);
  const audit = await auditOf(fixture);
  expect(audit.map(({ id }) => id)).toEqual([...ids, nobody]);
  expect(audit.map(({ result }) => result)).toEqual(['too-late', 'too-late', 'unknown']);
});

test('an open business transaction does not block an operator: its message is busy, the others are done', async () => {
  await failAll(fixture, ['A', 'B']);
  const business = await fixture.begin();
  await business.query('select from outbox.message where id = $1 for update', [fixture.idOf('A')]);

  const answers = await operator.retry(operator.of('A', 'B'), ada);

  expect(answers).toMatchObject([
    { id: fixture.idOf('A'), result: 'busy', state: 'failed' },
    { id: fixture.idOf('B'), result: 'retried', state: 'ready' },
  ]);
  expect((await auditOf(fixture)).map(({ result }) => result)).toEqual(['retried', 'busy']);
  await business.rollback();
});

test('a discarded message is never sent and frees the key that it blocked', async () => {
  await holdingFixture();
  await failHead(fixture);

  expect(await operator.discard(operator.of('K1', 'K2'), ada)).toMatchObject([
    { result: 'discarded', state: 'discarded' },
    { result: 'too-late', state: 'blocked' },
  ]);
  await fixture.drain();

  expect(fixture.broker.labels).toEqual(['K2', 'K3']);
  expect(await operator.retry(operator.of('K1'), ada)).toMatchObject([{ result: 'too-late' }]);
});

test('refuses a dry run that is neither true nor false, and writes nothing', async () => {
  await failAll(fixture, ['A']);
  // As a request has it.
  const dry = { ...ada, dryRun: 'true' as unknown as boolean };
  const refused = { code: 'OUTBOX_OPTION_INVALID', details: { option: 'dryRun' } };

  await expect(operator.retry(operator.of('A'), dry)).rejects.toMatchObject(refused);
  await expect(operator.withdraw(operator.of('A'), dry)).rejects.toMatchObject(refused);
  await expect(
    operator.bulk.start({ states: ['failed'] }, { action: 'discard' }, { ...dry, reason: 'no' }),
  ).rejects.toMatchObject(refused);

  expect(await fixture.states('A')).toEqual(['failed']);
  expect(await auditOf(fixture)).toEqual([]);
});

test('when many operators retry the same messages at once, each message is retried by one', async () => {
  const labels = [...Array(20).keys()].map((n) => `A${n}`);
  await failAll(fixture, labels);
  const { ids } = operator.of(...labels);

  const answers = await Promise.all([
    operator.retry({ ids }, ada),
    operator.retry({ ids: ids.toReversed() }, { actor: 'bob' }),
    operator.retry({ ids }, { actor: 'eve' }),
  ]);

  for (const id of ids) {
    const results = answers.flatMap((some) => some.filter((answer) => answer.id === id));
    // On a slow machine some may have given up waiting for the others after two seconds.
    expect(results.map(({ result }) => result.replace('busy', 'too-late')).toSorted()).toEqual([
      'retried',
      'too-late',
      'too-late',
    ]);
  }
  await fixture.drain();
  expect(fixture.broker.log).toHaveLength(labels.length);
});
