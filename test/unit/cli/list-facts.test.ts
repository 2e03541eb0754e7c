import { expect, test, vi } from 'vitest';
import { nearTimeOfFlag } from '../../../src/cli/flag-values.ts';
import { factsOf } from '../../../src/cli/list-command.ts';

const listed = {
  id: '6b2f9c1e-7d3a-4f53-9c52-0d5b1a1f0a11',
  topic: 'invoice',
  lane: 0,
  position: '1',
  key: 'customer-7',
  ref: 'order-4711',
  workflowId: 'w',
  attempts: 0,
  lastError: null,
  createdAt: new Date(0),
  updatedAt: new Date(0),
  archivedAt: null,
  dueAt: new Date('1999-12-24T18:00:00Z'),
};

test('a list shows the ref, and when a message that waits is due', () => {
  expect(factsOf({ ...listed, state: 'waiting' })).toBe(
    'key customer-7, ref order-4711, due 1999-12-24T18:00Z',
  );
  expect(factsOf({ ...listed, state: 'published' })).toBe('key customer-7, ref order-4711');
});

test('a duration is a time before or after now, and another text is refused', (context) => {
  vi.useFakeTimers({ now: new Date('2026-11-27T08:00:00Z'), toFake: ['Date'] });
  context.onTestFinished(() => void vi.useRealTimers());
  expect(nearTimeOfFlag('created-from', '2h', 'ago')).toEqual(new Date('2026-11-27T06:00:00Z'));
  expect(nearTimeOfFlag('due-to', '2h', 'from now')).toEqual(new Date('2026-11-27T10:00:00Z'));
  expect(nearTimeOfFlag('due-to', '2026-12-24', 'from now')).toEqual(new Date('2026-12-24T00:00:00Z'));
  expect(() => nearTimeOfFlag('due-to', '2026-13-45', 'from now')).toThrow('--due-to takes an ISO time');
  expect(() => nearTimeOfFlag('due-to', 'soon', 'from now')).toThrow('or a duration such as 2h');
});
