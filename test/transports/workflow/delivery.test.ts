import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { countKinds, outgoing, publishTo } from '../../support/fixtures/outgoing.ts';
import { quietTemporal } from '../../support/fixtures/stage.ts';
import { messageIn, ownClient, signalsOf, transportTo } from './workflow-stage.ts';

quietTemporal();

let client: Client;
beforeAll(async () => {
  client = await ownClient();
});
afterAll(() => client.connection.close());

const start = { type: 'order', taskQueue: 'nobody' };
const message = (key: string | null = null) => ({ ...outgoing(key), payload: '{"order":7}' });

/** The arguments of the workflow, and its state. */
async function started(workflowId: string) {
  const handle = client.workflow.getHandle(workflowId);
  const { events } = await handle.fetchHistory();
  const begin = events?.[0]?.workflowExecutionStartedEventAttributes;
  return { ...messageIn(begin?.input), type: begin?.workflowType?.name, queue: begin?.taskQueue?.name };
}

test('a message starts its workflow once, with the id of the message as the first argument', {
  tags: ['workflow-started-once'],
}, async () => {
  const transport = transportTo({
    ...start,
    id: ({ key, payload }) => `${key}-${(payload as { order: number }).order}`,
  });
  const first = message(`start-${randomUUID()}`);

  expect(countKinds(await publishTo(transport, 'orders', [first]))).toEqual({ acknowledged: 1 });
  const handle = client.workflow.getHandle(`${first.key}-7`);
  const { runId } = await handle.describe();
  expect(await started(handle.workflowId)).toMatchObject({ ...first, type: 'order', queue: 'nobody' });
  expect(countKinds(await publishTo(transport, 'orders', [first, message(first.key)]))).toEqual({
    acknowledged: 2,
  });
  await handle.terminate();
  expect(countKinds(await publishTo(transport, 'orders', [first, message(first.key)]))).toEqual({
    acknowledged: 2,
  });
  expect((await handle.describe()).runId).toBe(runId);
});

test('signal-with-start starts one workflow, and each signal arrives once, in order, however often it is sent', {
  tags: ['workflow-started-once'],
}, async () => {
  const workflowId = `basket-${randomUUID()}`;
  const transport = transportTo({ ...start, id: () => workflowId, signal: 'added' });
  const messages = Array.from({ length: 20 }, () => message('basket'));

  for (let n = 0; n < 3; n += 1)
    expect(countKinds(await publishTo(transport, 'baskets', messages))).toEqual({ acknowledged: 20 });

  expect((await signalsOf(client, workflowId)).map(({ id }) => id)).toEqual(messages.map(({ id }) => id));
});

test('signals of two installations whose senders chose the same id both arrive, each once', {
  tags: ['effect-once'],
}, async () => {
  const workflowId = `basket-${randomUUID()}`;
  const transport = transportTo({ ...start, id: () => workflowId, signal: 'added' });
  const sent = message();
  const messages = [randomUUID(), randomUUID()].map((installation) => ({
    ...sent,
    headers: { ...sent.headers, ce_source: `/outbox/${installation}`, 'outbox-id': 'chosen' },
  }));

  for (let n = 0; n < 2; n += 1)
    for (const one of messages)
      expect(countKinds(await publishTo(transport, 'baskets', [one]))).toEqual({ acknowledged: 1 });

  expect((await signalsOf(client, workflowId)).map(({ id }) => id)).toEqual(
    messages.map(({ headers }) => `${headers.ce_source}|${sent.id}`),
  );
});

test.each(['retry', 'fail'] as const)(
  'a signal to a workflow that is not running is refused: %s',
  async (missing) => {
    const workflowId = `gone-${randomUUID()}`;
    const kind = missing === 'fail' ? 'permanent' : 'rejected';
    const signals = transportTo({ id: () => workflowId, signal: 'added', missing });
    expect((await publishTo(signals, 'baskets', [message()])).outcomes).toMatchObject([
      { kind, error: expect.stringContaining(workflowId) },
    ]);

    const both = transportTo({ ...start, id: () => workflowId, signal: 'added', missing });
    expect(countKinds(await publishTo(both, 'baskets', [message()]))).toEqual({ acknowledged: 1 });
    expect(countKinds(await publishTo(signals, 'baskets', [message()]))).toEqual({ acknowledged: 1 });
    await client.workflow.getHandle(workflowId).terminate();
    expect((await publishTo(both, 'baskets', [message()])).outcomes).toMatchObject([
      { kind, error: expect.stringContaining('has ended') },
    ]);
    expect(countKinds(await publishTo(signals, 'baskets', [message()]))).toEqual({ [kind]: 1 });
  },
);

test.each<[string, () => string]>([
  [
    'throws',
    () => {
      throw new Error('there is no customer');
    },
  ],
  ['returns no string', () => undefined as unknown as string],
  ['returns an id that is too long', () => 'x'.repeat(2_000)],
])('a message whose workflow id function %s is failed, and others are delivered', async (_what, wrong) => {
  const transport = transportTo({
    ...start,
    id: ({ key }) => (key === 'bad' ? wrong() : `good-${randomUUID()}`),
  });
  const { outcomes } = await publishTo(transport, 'orders', [message('bad'), message('good')]);
  expect(outcomes).toMatchObject([{ kind: 'permanent' }, { kind: 'acknowledged' }]);
});

test('a missing namespace holds everything and uses up no attempt', async () => {
  const transport = transportTo({ ...start, id: () => 'a', namespace: 'not-there' });
  expect(await publishTo(transport, 'orders', [message('a'), message('b')])).toMatchObject({
    outcomes: [
      { kind: 'deferred', onWire: false },
      { kind: 'deferred', onWire: false },
    ],
    hold: { scope: 'transport', reason: expect.stringContaining('Namespace not-there is not found') },
  });
  await expect(transport.probe('orders')).rejects.toMatchObject({
    code: 'OUTBOX_SERVER_UNAVAILABLE',
    message: expect.stringContaining('Namespace not-there is not found'),
  });
});

test('arguments are encoded by the data converter, and a connection of the user stays open', async () => {
  const connection = await NativeConnection.connect({ address: inject('ownTemporal') });
  onTestFinished(() => connection.close());
  const reversed = (data: Uint8Array | null | undefined): Buffer =>
    Buffer.from(Uint8Array.from(data ?? []).toReversed());
  const workflowId = `coded-${randomUUID()}`;
  const transport = transportTo({
    ...start,
    id: () => workflowId,
    address: 'told.test:7233',
    connection,
    dataConverter: {
      payloadCodecs: [
        {
          encode: async (payloads) => payloads.map((one) => ({ ...one, data: reversed(one.data) })),
          decode: async (payloads) => payloads,
        },
      ],
    },
  });
  const sent = message();

  expect(countKinds(await publishTo(transport, 'orders', [sent]))).toEqual({ acknowledged: 1 });
  await transport.close();

  const { events } = await client.workflow.getHandle(workflowId).fetchHistory();
  const [id] = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
  expect(reversed(id?.data).toString()).toBe(JSON.stringify(sent.id));
  await connection.workflowService.getSystemInfo({});
});

test('the server is named with its version', async () => {
  expect(await transportTo({ ...start, id: () => 'none' }).server?.()).toMatch(/^Temporal \d+\.\d+/);
});
