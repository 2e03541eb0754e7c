import { afterEach, expect, test } from 'vitest';
import { createRelayBulkRunner } from '../../../src/relay/bulk.ts';
import type { RelayEvent } from '../../../src/relay/report.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { ada, type Operator, ownOperator } from '../../support/fixtures/operator.ts';
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

test('a withdrawal that an earlier version has begun ends as failed, changes nothing, and says what to do', async () => {
  await fixture.send('A', { afterMs: 3_600_000 });
  const started = await operator.bulk.start({ topic: 'orders' }, { action: 'cancel' }, ada);
  const id = started.id ?? '';
  await fixture.database.query(`update outbox.bulk_operation set action = 'withdraw'`);
  const failures: RelayEvent[] = [];
  const runner = createRelayBulkRunner(fixture.database, (event) => void failures.push(event));

  const answers: unknown[] = [];
  for (let page = 0; page < 10; page += 1)
    answers.push(await runner.runPage(id, () => undefined).catch(() => 'error'));

  expect(answers.at(-1)).toEqual({ kind: 'resting', state: 'failed' });
  expect(failures).toHaveLength(10);
  expect(await operator.bulk.show(id)).toMatchObject({
    action: 'withdraw',
    state: 'failed',
    counts: {},
    lastError: expect.stringContaining('withdraw by ids'),
  });
  expect(await fixture.states('A')).toEqual(['waiting']);
  expect(await operator.bulk.abort(id, ada)).toEqual({ changed: true, state: 'aborted' });
});
