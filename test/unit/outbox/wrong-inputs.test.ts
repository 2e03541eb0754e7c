import { expect, test } from 'vitest';
import { z } from 'zod';
import { consumer } from '../../../src/consumer.ts';
import {
  type BatchMessage,
  cancel,
  reschedule,
  send,
  sendBatch,
  type Topic,
  type Transaction,
  topic,
} from '../../../src/index.ts';
import { OnMessage } from '../../../src/nestjs.ts';
import { memoryBroker } from '../../../src/testing.ts';

const orders = topic('orders', z.object({ text: z.string() }));
const payload = { text: 'x' };
/** No server is asked: an invalid call is refused before anything is done. */
const tx: Transaction = {
  $queryRawUnsafe: () => Promise.reject(new Error('The database was asked.')),
};
const client = { $transaction: () => Promise.reject(new Error('The database was asked.')) };
const config = { topics: [orders], transports: { kafka: memoryBroker() } };
const handle = () => Promise.resolve();

/** What JavaScript may give. */
const wrong = (given: unknown): never => given as never;

const withTopic: readonly (readonly [caller: string, call: (given: Topic) => unknown])[] = [
  ['send', (given) => send(tx, given, payload)],
  ['sendBatch', (given) => sendBatch(tx, given, [{ payload }])],
  ['cancel', (given) => cancel(tx, given, 'ref')],
  ['reschedule', (given) => reschedule(tx, given, 'ref', { after: 0 })],
  ['on', (given) => consumer(client, { config, group: 'g' }).on(given, handle)],
  ['onBatch', (given) => consumer(client, { config, group: 'g' }).onBatch(given, handle)],
  ['@OnMessage', (given) => OnMessage(given)],
];

const refusal = (call: () => unknown): Promise<unknown> =>
  (async () => call())().then(
    () => undefined,
    (error: unknown) => error,
  );

test.each(withTopic)(
  '%s refuses anything but a topic, and says so',
  { tags: ['arguments-refused-at-the-border'] },
  async (caller, call) => {
    for (const given of ['orders', undefined, null, {}, z.string()]) {
      expect(await refusal(() => call(wrong(given)))).toMatchObject({
        code: 'OUTBOX_OPTION_INVALID',
        message: expect.stringMatching(`^The topic of ${caller} is not one that topic\\(\\) has made`),
        details: { option: 'topic' },
      });
    }
  },
);

test.each<[what: string, option: string, call: () => unknown]>([
  ['one message instead of a list', 'messages', () => sendBatch(tx, orders, wrong({ payload }))],
  ['no messages', 'messages', () => sendBatch(tx, orders, wrong(undefined))],
  ['a message that is null', 'messages', () => sendBatch(tx, orders, wrong([null]))],
  ['a message that is a string', 'messages', () => sendBatch(tx, orders, wrong(['x']))],
  ['options that are null', 'options', () => send(tx, orders, payload, wrong(null))],
  ['options that are a string', 'options', () => send(tx, orders, payload, wrong('key'))],
  ['a missing handle', 'options', () => cancel(tx, orders, wrong(undefined))],
  ['a missing due time', 'options', () => reschedule(tx, orders, 'ref', wrong(undefined))],
  ['a missing handler', 'on', () => consumer(client, { config, group: 'g' }).on(orders, wrong(undefined))],
])('%s is refused', async (_what, option, call) => {
  expect(await refusal(call)).toMatchObject({ code: 'OUTBOX_OPTION_INVALID', details: { option } });
});

test('a handler of a topic outside the configuration is refused with that reason', {
  tags: ['arguments-refused-at-the-border'],
}, async () => {
  const other = topic('other', z.unknown());
  for (const method of ['on', 'onBatch'] as const)
    expect(
      await refusal(() => consumer(client, { config, group: 'g' })[method](other, handle)),
    ).toMatchObject({
      code: 'OUTBOX_OPTION_INVALID',
      message: 'The topic "other" is not in `topics` of the consumer\'s configuration.',
    });
});

test('a batch names the first invalid message', async () => {
  const messages: readonly BatchMessage<{ text: string }>[] = [{ payload }, wrong(null)];
  expect(await refusal(() => sendBatch(tx, orders, messages))).toMatchObject({
    message: 'Message 1: It is not an object with a payload.',
    details: { index: 1 },
  });
});
