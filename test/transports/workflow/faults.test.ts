import { randomUUID } from 'node:crypto';
import { beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { startTemporal } from '../../../dev/servers/index.ts';
import { workflowSettings } from '../../../src/brokers/workflow/transport/workflow-options.ts';
import { WorkflowTransport } from '../../../src/brokers/workflow/transport/workflow-transport.ts';
import type { Transport } from '../../../src/transports.ts';
import { startFaultProxy } from '../../support/faults/fault-proxy.ts';
import { ownCache } from '../../support/fixtures/local-cache.ts';
import { countKinds, outgoing, publishTo } from '../../support/fixtures/outgoing.ts';
import { quietTemporal } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';
import { freeze } from '../../support/processes/frozen-process.ts';
import { ownClient, signalsOf, transportTo } from './workflow-stage.ts';

beforeAll(quietTemporal);

/** Less than everybody else waits, so that these tests wait less. */
const callMs = 3_000;
const start = { type: 'order', taskQueue: 'nobody' };
const message = () => ({ ...outgoing('a'), payload: '{}' });

/** A Temporal server that a test may kill and freeze; it ends with the test. */
async function ownTemporal() {
  const { env } = await ownCache();
  const server = await startTemporal({ env });
  onTestFinished(() => server.stop());
  if (server.node === undefined) throw new Error('It was not started here.');
  return { address: server.address, node: server.node };
}

/** One workflow that gets every message as a signal. */
function signaling(address: string): { readonly transport: Transport; readonly workflowId: string } {
  const workflowId = `inbox-${randomUUID()}`;
  const settings = workflowSettings({ ...start, address, id: () => workflowId, signal: 'arrived' });
  const transport = new WorkflowTransport(settings, 15_000, callMs);
  onTestFinished(() => transport.close());
  return { transport, workflowId };
}

/** What is published again, as the relay does, until it is acknowledged. */
async function untilDelivered(transport: Transport, messages: readonly ReturnType<typeof message>[]) {
  await until(() => transport.probe('orders').then(() => true));
  expect(countKinds(await publishTo(transport, 'orders', messages))).toEqual({
    acknowledged: messages.length,
  });
}

test('a killed server and a frozen one hold everything, and nothing is lost or repeated', async () => {
  const server = await ownTemporal();
  const { transport, workflowId } = signaling(server.address);
  const [before, frozen, killed] = [message(), message(), message()];
  await untilDelivered(transport, [before]);

  const pid = server.node.pid ?? 0;
  await freeze(pid);
  expect(await publishTo(transport, 'orders', [frozen])).toMatchObject({
    outcomes: [{ kind: 'deferred', onWire: true }],
    hold: { scope: 'transport', reason: expect.stringMatching(/^Temporal: /) },
  });
  process.kill(pid, 'SIGCONT');
  await untilDelivered(transport, [frozen]);

  await server.node.stop('SIGKILL');
  const killedAt = performance.now();
  const { hold, outcomes } = await publishTo(transport, 'orders', [killed]);
  expect(outcomes).toMatchObject([{ kind: 'deferred' }]);
  expect(hold?.scope).toBe('transport');
  // Temporal's client tries for ten seconds.
  expect(performance.now() - killedAt).toBeLessThan(9_500);
  await expect(transport.probe('orders')).rejects.toMatchObject({ code: 'OUTBOX_SERVER_UNAVAILABLE' });
  await server.node.start();
  await untilDelivered(transport, [killed]);

  const client = await ownClient(server.address);
  onTestFinished(() => client.connection.close());
  const ids = (await signalsOf(client, workflowId)).map(({ id }) => id);
  expect(ids).toEqual([before.id, frozen.id, killed.id]);
}, 180_000);

test('a network that swallows everything holds everything, with or without an existing connection', async () => {
  const proxy = await startFaultProxy(inject('ownTemporal'));
  onTestFinished(() => proxy.close());
  const { transport, workflowId } = signaling(proxy.address);
  const [first, second] = [message(), message()];
  await untilDelivered(transport, [first]);
  proxy.inject({ kind: 'blackhole' });
  const late = signaling(proxy.address).transport;

  const [open, opening] = await Promise.all([
    publishTo(transport, 'orders', [second]),
    publishTo(late, 'orders', [message()]),
  ]);

  expect(open).toMatchObject({
    outcomes: [{ kind: 'deferred', onWire: true }],
    hold: { scope: 'transport' },
  });
  expect(opening).toMatchObject({
    outcomes: [{ kind: 'deferred', onWire: false }],
    hold: {
      scope: 'transport',
      reason: `Temporal does not answer at ${proxy.address}: no connection within ${callMs} ms.`,
    },
  });
  proxy.heal();
  await untilDelivered(transport, [second]);
  const client = await ownClient();
  onTestFinished(() => client.connection.close());
  expect((await signalsOf(client, workflowId)).map(({ id }) => id)).toEqual([first.id, second.id]);
});

test.each([2_500_000, 5_000_000])(
  'a message of %s bytes, which Temporal refuses, is failed, and others continue',
  async (bytes) => {
    const transport = transportTo({ ...start, id: () => `large-${randomUUID()}`, concurrency: 1 });
    const large = { ...message(), payload: JSON.stringify('x'.repeat(bytes)) };

    const small = { ...message(), key: 'b' };
    const { hold, outcomes } = await publishTo(transport, 'orders', [large, small]);

    expect(hold).toBeUndefined();
    expect(outcomes.map(({ kind }) => kind)).toEqual(['permanent', 'acknowledged']);
  },
);
