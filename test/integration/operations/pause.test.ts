import { expect, test } from 'vitest';
import { gate } from '../../support/fixtures/gate.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { ada, auditOf, type Operator, ownOperator } from '../../support/fixtures/operator.ts';
import { startTestRelay } from '../../support/fixtures/test-relay.ts';
import { until } from '../../support/fixtures/until.ts';

let fixture: LaneFixture;
let operator: Operator;
eachLane((made) => {
  fixture = made;
  operator = ownOperator(made);
});

const topic = { topic: 'orders' };

test('a pause is complete once the relay has freed the lane, and nothing is delivered until the resume', async () => {
  const relay = await startTestRelay(fixture, { timings: { laneIdleTimeoutMs: 30_000 } });
  await fixture.send('before');
  await until(() => fixture.broker.labels.length === 1);
  expect((await fixture.laneRow()).live, 'the drain lingers').toBe(true);

  expect(await operator.pause(topic, ada)).toEqual({ changed: true, complete: true, stillDraining: [] });
  await fixture.send('after');
  expect(await operator.pause(topic, ada)).toMatchObject({ changed: false, complete: true });
  expect((await operator.show(fixture.idOf('after')))?.why).toMatchObject({ code: 'topic-paused' });
  expect(fixture.broker.labels).toEqual(['before']);

  expect(await operator.resume(topic, ada)).toEqual({ changed: true });
  await until(() => fixture.broker.labels.length === 2);
  await relay.stop();
  expect(
    (await auditOf(fixture)).map(({ action, id, topic: of, result }) => [action, id, of, result]),
  ).toEqual([
    ['pause', null, 'orders', 'done'],
    ['pause', null, 'orders', 'unchanged'],
    ['resume', null, 'orders', 'done'],
  ]);
});

test('a pause is never complete while a relay is sending, and names the lane', async () => {
  const sending = gate();
  fixture.broker.before = () => sending.opened;
  await fixture.send('A');
  const draining = fixture.drain();
  await until(() => fixture.broker.batches.length === 1);

  const answer = await operator.pause(topic, { ...ada, timeout: 150 });
  expect(answer).toMatchObject({
    changed: true,
    complete: false,
    stillDraining: [{ topic: 'orders', lane: 0 }],
  });
  expect(answer.stillDraining[0]?.aliveUntil.getTime()).toBeGreaterThan(0);

  sending.open();
  expect(await operator.pause(topic, ada)).toMatchObject({ changed: false, complete: true });
  expect(await draining).toBe('quiet');
  expect(await fixture.states('A')).toEqual(['published']);
});

test('a lane whose owner died counts as freed once its lease has expired', async () => {
  // Before the lease begins: however slow this machine is, a pause that waits for its end takes longer than it.
  const startedAt = performance.now();
  await fixture.database.query(
    `update outbox.lane set owner = gen_random_uuid(), alive_until = clock_timestamp() + interval '1 second', incarnation = outbox.incarnation()`,
  );

  expect(await operator.pause(topic, ada)).toMatchObject({ complete: true });
  expect(performance.now() - startedAt).toBeGreaterThan(990);
});

test('a transport is paused with all its topics, and only a resume of the transport releases them', async () => {
  await fixture.send('A');

  expect(await operator.pause({ transport: 'scripted' }, ada)).toMatchObject({
    changed: true,
    complete: true,
  });
  await operator.resume(topic, ada);
  await fixture.drain();
  expect(fixture.broker.labels).toEqual([]);
  expect((await operator.show(fixture.idOf('A')))?.why).toMatchObject({ code: 'transport-paused' });

  await operator.resume({ transport: 'scripted' }, ada);
  await fixture.drain();
  expect(fixture.broker.labels).toEqual(['A']);
});

test('an unannounced topic cannot be paused', async () => {
  await expect(operator.pause({ topic: 'ordres' }, ada)).rejects.toMatchObject({
    code: 'OUTBOX_TOPIC_UNKNOWN',
  });
  await expect(operator.pause({ transport: 'kafak' }, ada)).rejects.toMatchObject({
    code: 'OUTBOX_TRANSPORT_UNKNOWN',
  });
  expect(await auditOf(fixture)).toEqual([]);
});

test('a dry run of a pause names the owners of lanes and pauses nothing', async () => {
  await fixture.database.query(
    `update outbox.lane set owner = gen_random_uuid(), alive_until = clock_timestamp() + interval '10 seconds', incarnation = outbox.incarnation()`,
  );

  expect(await operator.pause(topic, { ...ada, dryRun: true })).toMatchObject({
    changed: true,
    complete: false,
    stillDraining: [{ lane: 0 }],
  });
  expect(await operator.resume(topic, ada)).toEqual({ changed: false });
});
