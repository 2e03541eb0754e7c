import { expect, test } from 'vitest';
import { type ReceiveOptions, receive, receiver, receiverNode, type Transaction } from '../../../src/http.ts';
import { receiveSettings } from '../../../src/inbox/http/receive-options.ts';
import { webhookSecret } from '../../support/fixtures/webhook.ts';

const client = { $transaction: () => Promise.reject(new Error('it was called')) };
const right: ReceiveOptions<Transaction> = {
  client,
  group: 'shop',
  secret: webhookSecret('k'),
  report: () => undefined,
};

const work = () => Promise.resolve();

test('defaults', () => {
  expect(receiveSettings(right, work)).toMatchObject({ maxBytes: 1_048_576, bodyTimeoutMs: 10_000 });
});

test.each<[string, object]>([
  ['group', { group: '' }],
  ['secret', { secret: 'short' }],
  ['client', { client: {} }],
  ['report', { report: undefined }],
  ['maxBytes', { maxBytes: 0 }],
  ['bodyTimeout', { bodyTimeout: '1h' }],
  ['timeout', { timeout: 1 }],
])('an invalid `%s` is refused where it is given', async (option, wrong) => {
  const options = { ...right, ...wrong } as ReceiveOptions<Transaction>;
  const refusal = expect.objectContaining({
    code: 'OUTBOX_OPTION_INVALID',
    details: expect.objectContaining({ option }),
  });
  expect(() => receiver(options, work)).toThrow(refusal);
  expect(() => receiverNode(options, work)).toThrow(refusal);
  const request = new Request('http://shop.test/', { method: 'POST', body: '{}' });
  await expect(receive(request, options, work)).rejects.toEqual(refusal);
});

test('work that is not a function is refused where it is given', () => {
  const nothing = undefined as unknown as typeof work;
  expect(() => receiver(right, nothing)).toThrow(expect.objectContaining({ details: { option: 'work' } }));
});

test('an invalid secret is refused in the name of the function that got it', () => {
  expect(() => receiver({ ...right, secret: 'short' }, work)).toThrow('receive()');
});

test('a secret that is a function is called at every request, not before', () => {
  const secret = () => {
    throw new Error('it was called');
  };
  expect(() => receiver({ ...right, secret }, work)).not.toThrow();
});
