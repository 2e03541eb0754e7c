import { afterEach, expect, test } from 'vitest';
import { withdrawIds } from '../../../src/operations/withdraw.ts';
import { createRelayBulkRunner } from '../../../src/relay/bulk.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { ada, failAll, type Operator, ownOperator } from '../../support/fixtures/operator.ts';
import { startTestRelay, type TestRelay } from '../../support/fixtures/test-relay.ts';
import { until } from '../../support/fixtures/until.ts';

let fixture: LaneFixture;
let operator: Operator;
let relay: TestRelay | undefined;
eachLane((made) => {
  fixture = made;
  operator = ownOperator(made);
});
afterEach(async () => {
  await relay?.stop();
  relay = undefined;
});

const untilEnded = (id: string | null): Promise<void> =>
  until(async () => (await operator.bulk.show(id ?? '')).finishedAt !== null);

test('selections contain late rows behind the cursor, but no published messages', async () => {
  await failAll(fixture, ['F']);
  for (const label of ['P1', 'P2']) await fixture.send(label);
  const late = await fixture.begin();
  await fixture.send('late', {}, late);
  await fixture.send('P3');
  await fixture.drain();
  await late.commit();
  await operator.pause({ topic: 'orders' }, ada);
  await fixture.send('R1');
  await operator.retry(operator.of('F'), ada);
  expect(await fixture.states('F', 'P1', 'P2', 'late', 'P3', 'R1')).toEqual([
    'ready',
    'published',
    'published',
    'ready',
    'published',
    'ready',
  ]);

  const { count, sample } = await operator.bulk.start(
    { topic: 'orders' },
    { action: 'withdraw' },
    { ...ada, dryRun: true },
  );

  expect(count).toBe(3);
  expect(sample.map((each) => each.id)).toEqual(operator.of('F', 'late', 'R1').ids);
});

test('a bulk withdraw cancels unpublished messages and leaves no pause behind', async () => {
  await operator.pause({ topic: 'orders' }, ada);
  const labels = Array.from({ length: 30 }, (_, n) => `R${n}`);
  for (const label of labels) await fixture.send(label);
  await fixture.send('W', { afterMs: 3_600_000 });
  const { id } = await operator.bulk.start(
    { topic: 'orders' },
    { action: 'withdraw' },
    { ...ada, ratePerSecond: 10 },
  );
  relay = await startTestRelay(fixture);
  await untilEnded(id);

  expect(await operator.bulk.show(id ?? '')).toMatchObject({ state: 'done', counts: { canceled: 31 } });
  expect(new Set(await fixture.states(...labels, 'W'))).toEqual(new Set(['canceled']));
  await operator.resume({ topic: 'orders' }, ada);
  await fixture.send('next');
  await until(async () => String(await fixture.states('next')) === 'published');
});

test.each(['an operator', 'its workflow'])(
  'what a dead relay has withdrawn is counted when %s aborts the operation',
  { tags: ['actions-audited'] },
  async (whose) => {
    await fixture.send('A', { afterMs: 3_600_000 });
    const started = await operator.bulk.start({ topic: 'orders' }, { action: 'withdraw' }, ada);
    const id = started.id ?? '';
    const runner = createRelayBulkRunner({
      database: fixture.database,
      report: () => undefined,
      async withdraw(ids, author, narrow) {
        await withdrawIds(fixture.database, ids, author, { narrow });
        throw new Error('The relay died.');
      },
    });
    await expect(runner.runPage(id, () => undefined)).rejects.toThrow('The relay died.');
    expect(await operator.bulk.show(id)).toMatchObject({ state: 'running', counts: {}, pending: 1 });

    if (whose === 'an operator') await operator.bulk.abort(id, ada);
    else {
      await runner.abort(id, 'workflow');
      await runner.runPage(id, () => undefined);
    }
    expect(await operator.bulk.show(id)).toMatchObject({
      state: 'aborted',
      counts: { canceled: 1 },
      pending: 0,
    });
  },
);

test('a shift moves every due time once, by the given duration, and none past an expiry', async () => {
  for (const [n, label] of ['A', 'B', 'C'].entries())
    await fixture.send(label, { afterMs: (n + 1) * 3_600_000 });
  await fixture.send('D', { afterMs: 3_600_000, expiresAfterMs: 2 * 3_600_000 });
  const dueTimes = async (): Promise<readonly number[]> =>
    (await operator.list({ states: ['waiting'] })).messages.map(({ dueAt }) => dueAt?.getTime() ?? 0);
  const before = await dueTimes();
  relay = await startTestRelay(fixture);

  const { id } = await operator.bulk.start(
    { states: ['waiting'] },
    { action: 'reschedule', shift: '90 minutes' },
    { ...ada, ratePerSecond: 1 },
  );
  await untilEnded(id);

  const [expiring, ...others] = before;
  expect(await dueTimes()).toEqual([expiring, ...others.map((time) => time + 90 * 60_000)]);
  expect(await operator.bulk.show(id ?? '')).toMatchObject({ counts: { rescheduled: 3, 'past-expiry': 1 } });
});
