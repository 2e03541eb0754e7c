import { randomUUID } from 'node:crypto';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { connectTemporal } from '../../src/temporal/connection.ts';
import { startHandlers } from '../../src/temporal/handler-engine.ts';
import { startHandlerProcess } from '../support/handler-process.ts';
import { deleteNamespace, registerNamespace } from '../support/namespaces.ts';
import { lingeringDrains, openParkedStage } from '../support/parked-stage.ts';
import { until } from '../support/until.ts';

test('a consumer that stops hands a key in hand over at once', async (context) => {
  const stage = await openParkedStage(context);
  await stage.park('k', 0);
  let begun = 0;
  const first = stage.host({ drains: lingeringDrains(() => (begun += 1)) });
  await until(() => begun === 1);
  // It hosts as soon as it has seen the key of the first.
  await stage.host().hosting;

  const stoppedAt = performance.now();
  await first.stop();
  await stage.untilDrained();

  // A second or so; a task that waits in the queue of the one that stopped would take ten.
  expect(performance.now() - stoppedAt).toBeLessThan(5_000);
  expect(begun).toBe(1);
});

test('a consumer killed in mid-drain is followed by another within fifteen seconds', async (context) => {
  const stage = await openParkedStage(context);
  await stage.park('k', 0);
  const doomed = startHandlerProcess(stage);
  context.onTestFinished(() => doomed.kill());
  await doomed.draining;
  stage.host();

  const killedAt = performance.now();
  await doomed.kill();

  await stage.untilDrained();
  expect(performance.now() - killedAt).toBeLessThan(15_000);
});

test('a consumer that dies between the start of a workflow and its note leaves nothing behind', async (context) => {
  const stage = await openParkedStage(context);
  const { workflowId } = await stage.park('k', 8_000);
  const doomed = startHandlerProcess(stage, { point: 'inbox:key-started', pass: 1 });
  context.onTestFinished(() => doomed.kill());
  await doomed.exited;
  expect(await stage.keys()).toMatchObject([{ told: false }]);
  const { runId } = await stage.handleOf(workflowId).describe();

  stage.host();

  await stage.untilDrained();
  expect((await stage.handleOf(workflowId).describe()).runId).toBe(runId);
});

test('a thousand parked keys have their workflows soon', async (context) => {
  const stage = await openParkedStage(context);
  await stage.park('first', 3_600_000);
  const { hosting, watcher } = stage.host();
  await hosting;
  await stage.parkMany(1_000, 3_600_000);
  watcher.nudge();

  // A quiet machine takes a few seconds.
  await until(async () => (await stage.keys()).every(({ told }) => told), 45_000);
  expect(await stage.keys()).toHaveLength(1_001);
});

test('a namespace that was deleted and made again gets the workflows back', async (context) => {
  const namespace = `handle-${randomUUID()}`;
  await registerNamespace(namespace);
  const stage = await openParkedStage(context, { namespace });
  const { workflowId } = await stage.park('k', 3_600_000);
  stage.host();
  await stage.untilSleeping(workflowId);
  await until(async () => (await stage.keys()).every(({ told }) => told));

  await deleteNamespace(namespace);
  await registerNamespace(namespace);
  await stage.makeLate(5_000);

  await stage.untilDrained(50_000);
});

/** A port whose every connection is cut, and how many there were. */
async function openDeadEnd({ onTestFinished }: { onTestFinished: (work: () => Promise<void>) => void }) {
  let asked = 0;
  const server = createServer((socket) => {
    asked += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => void server.close());
  const listening = server.address();
  const port = typeof listening === 'object' && listening !== null ? listening.port : 0;
  return { temporal: { address: `127.0.0.1:${port}`, namespace: 'default' }, asked: () => asked };
}

test('nothing is connected before the first start, and without Temporal a start rejects and can be made again', async (context) => {
  const { asked, temporal } = await openDeadEnd(context);
  const elsewhere = await openDeadEnd(context);
  const handlers = startHandlers({
    temporal,
    installation: randomUUID(),
    group: 'shop',
    drains: { drain: () => Promise.resolve({ kind: 'drained' }) },
    visible: () => true,
    report: () => undefined,
  });
  // What would have been begun earlier would be further.
  await expect(connectTemporal(elsewhere.temporal, 0)).rejects.toBeInstanceOf(Error);
  expect([asked(), elsewhere.asked()]).toEqual([0, expect.toSatisfy((count: number) => count > 0)]);

  const key = {
    keyId: randomUUID(),
    workflowId: 'w',
    topic: 'orders',
    key: null,
    dueInMs: 0,
    replace: false,
  };
  for (let round = 1; round <= 2; round += 1)
    await expect(handlers.workflows.start(key)).rejects.toMatchObject({ code: 'OUTBOX_SERVER_UNAVAILABLE' });
  expect(asked()).toBeGreaterThanOrEqual(2);

  const late = handlers.workflows.start(key);
  await handlers.stop();
  await expect(late).rejects.toBeInstanceOf(Error);
  await expect(handlers.workflows.start(key)).rejects.toThrow(/stopped/);
});
