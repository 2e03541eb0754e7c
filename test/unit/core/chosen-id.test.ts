import { expect, test } from 'vitest';
import { chosenId, identityOf, ownId } from '../../../src/core/chosen-id.ts';
import { eventId } from '../../../src/inbox/reading/message-id.ts';

const installation = '0190a5c8-7d6e-7bbb-8a4f-2f6b6a1c0d11';
const id = '6f1f7a5e-7a4e-4c55-9d0c-2f6b3c1d8e90';

test('a chosen id carries its installation, and its outbox knows it without', () => {
  expect(chosenId(installation, id)).toBe(`/outbox/${installation}|${id}`);
  expect(ownId(chosenId(installation, id))).toBe(id);
});

test.for([id, `https://shop.test|${id}`, `/outbox/inbox|${id}`, 'orders:a|b'])(
  '%s is no chosen id',
  (other) => {
    expect(ownId(other)).toBe(other);
  },
);

test.for<readonly [string, Readonly<Record<string, string>>]>([
  ['an outbox made', { ce_source: `/outbox/${installation}` }],
  ['its sender chose', { ce_source: `/outbox/${installation}`, 'outbox-id': 'chosen' }],
  ['the sender of another installation chose', { ce_source: `/outbox/${id}`, 'outbox-id': 'chosen' }],
])('a message whose id %s is for transports what it is for inboxes', ([, headers]) => {
  const forInboxes = eventId(id, headers['ce_source'], headers['outbox-id'] !== undefined);
  expect(identityOf({ id, headers })).toBe(forInboxes);
});
