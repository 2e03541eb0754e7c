import { randomUUID } from 'node:crypto';
import { expect, inject, test } from 'vitest';
import { workflowSettings } from '../../../src/brokers/workflow/transport/workflow-options.ts';
import { WorkflowTransport } from '../../../src/brokers/workflow/transport/workflow-transport.ts';
import { type TransportSubject, transportContract } from '../../../src/testing.ts';
import { startFaultProxy } from '../../support/faults/fault-proxy.ts';
import { quietTemporal } from '../../support/fixtures/stage.ts';
import { ownClient, signalsOf } from './workflow-stage.ts';

quietTemporal();

/** One workflow that gets everything as signals, so that its history is the order of arrival; its Temporal is behind a proxy. */
async function subject(): Promise<TransportSubject> {
  const id = `inbox-${randomUUID()}`;
  const proxy = await startFaultProxy(inject('ownTemporal'));
  const client = await ownClient();
  const settings = workflowSettings({
    address: proxy.address,
    id: () => id,
    type: 'inbox',
    taskQueue: 'nobody',
    signal: 'arrived',
    concurrency: 4,
  });
  // What is too slow for one batch on a busy machine is another test's.
  const transport = new WorkflowTransport(settings, 60_000, 5_000);
  return {
    transport,
    address: 'inbox',
    partitions: 1,
    read: () => signalsOf(client, id),
    async dispose() {
      await client.workflow
        .getHandle(id)
        .terminate()
        .catch(() => undefined);
      await client.connection.close();
      await proxy.close();
    },
    faults: {
      refused: (message) => ({ ...message, payload: 'no JSON' }),
      hold: async () => proxy.inject({ kind: 'reset' }),
      loseAnswers: async () => proxy.inject({ kind: 'drop-replies' }),
      reorder: async () => proxy.inject({ kind: 'delay', ms: 1, jitterMs: 4 }),
      heal: async () => proxy.heal(),
    },
  };
}

const cases = await transportContract(subject);

test('the contract runs every case whose fault Temporal can have', () => {
  expect(cases).toHaveLength(17);
});

for (const { name, run } of cases) test(name, run, 180_000);
