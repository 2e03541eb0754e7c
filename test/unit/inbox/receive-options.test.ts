import { expect, test } from 'vitest';
import { type ReceiveOptions, receive, type Transaction } from '../../../src/http.ts';
import { receiveSettings } from '../../../src/inbox/http/receive-options.ts';
import { webhookSecret } from '../../support/fixtures/webhook.ts';

const client = { $transaction: () => Promise.reject(new Error('it was called')) };
const right: ReceiveOptions<Transaction> = {
  client,
  group: 'shop',
  secret: webhookSecret('k'),
  report: () => undefined,
};

test('defaults', () => {
  expect(receiveSettings(right)).toMatchObject({ maxBytes: 1_048_576, bodyTimeoutMs: 10_000 });
});

test.each<[string, object]>([
  ['group', { group: '' }],
  ['secret', { secret: 'short' }],
  ['client', { client: {} }],
  ['report', { report: undefined }],
  ['maxBytes', { maxBytes: 0 }],
  ['bodyTimeout', { bodyTimeout: '1h' }],
  ['timeout', { timeout: 1 }],
])('a wrong `%s` is refused', async (option, wrong) => {
  const options = { ...right, ...wrong } as ReceiveOptions<Transaction>;
  const request = new Request('http://shop.test/', { method: 'POST', body: '{}' });
  await expect(receive(request, options, () => Promise.resolve())).rejects.toMatchObject({
    code: 'OUTBOX_OPTION_INVALID',
    details: { option },
  });
});
