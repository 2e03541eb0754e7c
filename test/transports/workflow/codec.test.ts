import { randomUUID } from 'node:crypto';
import { ApplicationFailure, type PayloadCodec } from '@temporalio/common';
import { beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { workflowSettings } from '../../../src/brokers/workflow/transport/workflow-options.ts';
import { WorkflowTransport } from '../../../src/brokers/workflow/transport/workflow-transport.ts';
import { outgoing, publishTo } from '../../support/fixtures/outgoing.ts';
import { quietTemporal } from '../../support/fixtures/stage.ts';

beforeAll(quietTemporal);

function encodedBy(encode: PayloadCodec['encode']): WorkflowTransport {
  const codec: PayloadCodec = { encode, decode: async (payloads) => payloads };
  const settings = workflowSettings({
    address: inject('ownTemporal'),
    type: 'order',
    taskQueue: 'nobody',
    id: () => `order-${randomUUID()}`,
    dataConverter: { payloadCodecs: [codec] },
  });
  const transport = new WorkflowTransport(settings, 10_000, 2_000);
  onTestFinished(() => transport.close());
  return transport;
}

const messages = ['a', 'b'].map((id) => ({ ...outgoing(id), payload: JSON.stringify({ of: id }) }));
/** As a codec that spares its server what holds nothing. */
const unlessNull =
  (encode: PayloadCodec['encode']): PayloadCodec['encode'] =>
  (payloads) =>
    payloads.every(({ data }) => Buffer.from(data ?? []).toString() === 'null')
      ? Promise.resolve(payloads)
      : encode(payloads);
const away = Object.assign(new Error('connect ECONNREFUSED kms.test:443'), { code: 'ECONNREFUSED' });

test.for<readonly [string, PayloadCodec['encode'], RegExp]>([
  ['whose server is away', () => Promise.reject(away), /data converter failed: connect ECONNREFUSED/],
  [
    'whose server is away, and is not asked for null,',
    unlessNull(() => Promise.reject(away)),
    /data converter failed: connect ECONNREFUSED/,
  ],
  [
    'that never answers',
    () => new Promise(() => undefined),
    /data converter failed: no answer within 2000 ms/,
  ],
])('a codec %s holds the transport until it encodes, and blames no message', async ([, encode, reason]) => {
  let works = false;
  const transport = encodedBy((payloads) => (works ? Promise.resolve(payloads) : encode(payloads)));

  const { hold, outcomes } = await publishTo(transport, 'orders', messages);

  const deferred = { kind: 'deferred', onWire: false };
  expect(outcomes).toEqual([deferred, deferred]);
  expect(hold).toMatchObject({ scope: 'transport', reason: expect.stringMatching(reason) });
  await expect(transport.probe()).rejects.toMatchObject({ message: expect.stringMatching(reason) });
  works = true;
  await transport.probe();
});

test.for<readonly [string, () => Error, string]>([
  ['for good', () => ApplicationFailure.nonRetryable('too large to encrypt'), 'permanent'],
  ['by any other error', () => new Error('too large to encrypt'), 'rejected'],
])(
  'a codec that refuses one message %s stops no other one',
  { tags: ['one-bad-slows-no-other'] },
  async ([, refusal, kind]) => {
    const transport = encodedBy(async (payloads) => {
      if (payloads.some(({ data }) => Buffer.from(data ?? []).includes('"of":"a"'))) throw refusal();
      return payloads;
    });

    const { hold, outcomes } = await publishTo(transport, 'orders', messages);

    expect(hold).toBeUndefined();
    expect(outcomes).toMatchObject([
      { kind, error: 'the data converter failed: too large to encrypt' },
      { kind: 'acknowledged' },
    ]);
  },
);
