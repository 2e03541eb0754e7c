import { randomUUID } from 'node:crypto';
import { createServer } from 'node:net';
import type { WorkflowHandle } from '@temporalio/client';
import { expect, inject, test } from 'vitest';
import { connectTemporal } from '../../../src/brokers/workflow/client/connection.ts';
import { startParkedKeys } from '../../../src/temporal/parked-key/engine.ts';
import {
  lingeringDrains,
  noBulk,
  openParkedStage,
  type ParkedStage,
} from '../../support/fixtures/parked-stage.ts';
import { until } from '../../support/fixtures/until.ts';
import { type Crash, type Program, startProgram } from '../../support/processes/program.ts';

type History = Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;
type HistoryEvent = NonNullable<History['events']>[number];

test('a consumer that stops hands over a key in hand at once', async (context) => {
  const stage = await openParkedStage(context);
  const { workflowId } = await stage.park('k', 0);
  let begun = 0;
  const first = stage.host({ drains: lingeringDrains(() => (begun += 1)) });
  await until(() => begun === 1);
  // It hosts as soon as it has seen the key of the first.
  await stage.host().hosting;

  await first.stop();
  await stage.untilDrained(60_000);

  expect(begun).toBe(1);
  expect(await stage.handleOf(workflowId).result()).toEqual({ state: 'drained' });
  const { events } = await stage.handleOf(workflowId).fetchHistory();
  expect(events?.filter(waitedForTheDead)).toEqual([]);
});

/** A process that hosts the workflows of the stage, and whose drains never end. */
function startHandler({ group, installation, url }: ParkedStage, crash?: Crash): Program {
  const settings = { url, temporalAddress: inject('temporalAddress'), installation, group };
  return startProgram('handler-main', { ...settings, ...(crash !== undefined && { crash }) });
}

/** What was left with a worker that does not answer costs a time-out: ten seconds for a workflow, five for a drain. */
function waitedForTheDead(event: HistoryEvent): boolean {
  return (
    Boolean(event.workflowTaskTimedOutEventAttributes) ||
    Boolean(event.activityTaskStartedEventAttributes?.lastFailure?.timeoutFailureInfo)
  );
}

test.concurrent('a consumer killed during a drain is replaced soon after its missed heartbeats', async (context) => {
  const stage = await openParkedStage(context);
  await stage.park('k', 0);
  const doomed = startHandler(stage);
  context.onTestFinished(() => doomed.kill());
  await doomed.firstLine;
  stage.host();

  const killedAt = performance.now();
  await doomed.kill();

  // Temporal misses its heartbeats after 5 s. The figure is for a quiet machine, which takes half of it; without
  // heartbeats it would be ten minutes.
  await stage.untilDrained(60_000);
  expect(performance.now() - killedAt).toBeLessThan(45_000);
});

test.concurrent('a consumer that dies between the start of a workflow and its mark leaves nothing behind', async (context) => {
  const stage = await openParkedStage(context);
  const { workflowId } = await stage.park('k', 4_000);
  const doomed = startHandler(stage, { point: 'inbox:key-started', pass: 1 });
  context.onTestFinished(() => doomed.kill());
  await doomed.exited;
  expect(await stage.keys()).toMatchObject([{ told: false }]);
  const { runId } = await stage.handleOf(workflowId).describe();

  stage.host();

  await stage.untilDrained();
  expect((await stage.handleOf(workflowId).describe()).runId).toBe(runId);
});

test.concurrent('hundreds of parked keys soon have their workflows', async (context) => {
  const stage = await openParkedStage(context);
  await stage.park('first', 3_600_000);
  const { hosting, watcher } = stage.host();
  await hosting;
  await stage.parkMany(300, 3_600_000);
  watcher.nudge();

  // More than a look finds, and than are started at once. A quiet machine takes a second or two.
  await until(async () => (await stage.keys()).every(({ told }) => told), 120_000);
  expect(await stage.keys()).toHaveLength(301);
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

test.concurrent('nothing connects before the first start, and without Temporal a start rejects and can be repeated', async (context) => {
  const { asked, temporal } = await openDeadEnd(context);
  const elsewhere = await openDeadEnd(context);
  const handlers = startParkedKeys({
    temporal,
    installation: randomUUID(),
    group: 'shop',
    drains: { drain: () => Promise.resolve({ kind: 'drained' }) },
    bulk: noBulk,
    visible: () => true,
    concurrency: 10,
    failed: () => undefined,
  });
  // What would have been begun earlier would be further.
  await expect(connectTemporal(elsewhere.temporal)).rejects.toBeInstanceOf(Error);
  expect([asked(), elsewhere.asked()]).toEqual([0, expect.toSatisfy((count: number) => count > 0)]);

  const key = {
    keyId: randomUUID(),
    workflowId: 'w',
    topic: 'orders',
    key: null,
    dueInMs: 0,
    replace: 'never' as const,
  };
  for (let round = 1; round <= 2; round += 1)
    await expect(handlers.workflows.start(key)).rejects.toMatchObject({ code: 'OUTBOX_SERVER_UNAVAILABLE' });
  expect(asked()).toBeGreaterThanOrEqual(2);

  const late = handlers.workflows.start(key).catch((error: unknown) => error);
  await handlers.stop();
  expect(await late).toBeInstanceOf(Error);
  await expect(handlers.workflows.start(key)).rejects.toThrow(/stopped/);
});
