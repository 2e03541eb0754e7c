import { expect, test } from 'vitest';
import { messagesOf } from '../../../src/store/bulk/messages.ts';

test('of a withdrawal that an earlier version has begun no page is made, and the error says what to do', () => {
  const bulk = {
    group: null,
    filter: { topic: 'orders', states: ['ready'] },
    action: 'withdraw',
    arguments: {},
    selectedUntil: '2026-11-27 08:14:00+00',
  } as const;

  expect(() => messagesOf(bulk)).toThrow(/withdraws no messages in bulk.*Abort.*resume.*withdraw by ids/);
});
