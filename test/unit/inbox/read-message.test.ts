import { expect, test } from 'vitest';
import { z } from 'zod';
import { topic } from '../../../src/core/topic.ts';
import { readMessage } from '../../../src/inbox/read-message.ts';
import { incoming } from './incoming.ts';

const orders = topic('orders', z.object({ n: z.number(), when: z.string().default('now') }));

async function refusal(message: Parameters<typeof incoming>[0]): Promise<unknown> {
  return readMessage(orders, incoming(message), 1).catch((error: unknown) => error);
}

test('the handler gets what the schema makes of the body, not the body', async () => {
  expect((await readMessage(orders, incoming({ json: { n: 1, more: true } }), 1)).payload).toEqual({
    n: 1,
    when: 'now',
  });
});

test('the time of sending is that of the sender, else that of the broker', async () => {
  const sent = async (ce_time: string | undefined) => {
    const headers = { ce_id: 'a', ...(ce_time !== undefined && { ce_time }) };
    return (await readMessage(orders, incoming({ headers }), 1)).sentAt;
  };

  expect(await sent('2026-01-02T03:04:05Z')).toEqual(new Date('2026-01-02T03:04:05Z'));
  expect(await sent('soon')).toEqual(new Date(0));
  expect(await sent(undefined)).toEqual(new Date(0));
});

test.for([
  ['without an id', { headers: {} }, 'it has no header ce_id'],
  ['with an empty id', { headers: { ce_id: '' } }, 'not an id'],
  ['with an id that no index takes', { headers: { ce_id: 'x'.repeat(513) } }, 'not an id'],
  ['without a body', { body: null }, 'it has no body'],
  ['with half a body', { body: Uint8Array.of(0x7b) }, 'not JSON'],
  ['with bytes that are no UTF-8', { body: Uint8Array.of(0x22, 0xff, 0x22) }, 'not JSON in UTF-8'],
  ['with another shape', { json: { n: 'one' } }, 'n: '],
] as const)('a message %s is unreadable and says where it is', async ([, message, why]) => {
  expect(await refusal(message)).toMatchObject({
    code: 'OUTBOX_MESSAGE_UNREADABLE',
    message: expect.stringMatching(new RegExp(`orders/0, offset 10.*${why}`)),
    details: { address: 'orders', partition: 0, offset: '10' },
  });
});

test('the error of an unreadable message does not quote its body', async () => {
  const error = await refusal({ body: new TextEncoder().encode('{"n":"secret"}') });
  expect(String(error)).not.toContain('secret');
});
