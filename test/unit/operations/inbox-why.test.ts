import { expect, test } from 'vitest';
import { explainKept } from '../../../src/operations/inbox/why.ts';
import type { KeptKey } from '../../../src/store/inbox/show.ts';

const message = {
  id: 'me',
  key: 'K',
  state: 'parked',
  reason: 'error',
  lastError: 'Error: the bank is closed.',
  attempts: 2,
  supersededBy: null,
  parkedKey: null,
} as const;

const key: KeptKey = {
  workflowId: 'w',
  nextInMs: 90_000,
  nextAt: new Date('2026-01-02T03:04:05Z'),
  first: { id: 'me', state: 'parked' },
  before: 0,
  inHand: false,
  workflowStarted: true,
};

test.each([
  [
    'the next try',
    {},
    'next-try',
    'Its last try failed: Error: the bank is closed. It is tried in 1 min 30 s, at 2026-01-02T03:04:05.000Z; a retry makes that now.',
  ],
  ['a try in progress', { inHand: true }, 'in-hand', 'It is being tried at the moment.'],
  [
    'a try that does not end',
    { inHand: true, nextInMs: -5_000 },
    'in-hand',
    'A try of it has begun and not ended, and the next has been due for 5 s. Is its handler slow, or is no consumer of the group running?',
  ],
  [
    'a consumer to try it',
    { nextInMs: -5_000 },
    'overdue',
    'Its last try failed: Error: the bank is closed. It has been due for 5 s. Is a consumer of the group running?',
  ],
  [
    'a missing workflow',
    { nextInMs: -5_000, workflowStarted: false },
    'overdue',
    'Its last try failed: Error: the bank is closed. It has been due for 5 s, and its workflow was not started. Is a consumer of the group running?',
  ],
  [
    'one message before it',
    { before: 1, first: { id: 'other', state: 'parked' as const } },
    'behind-key',
    '1 message of the key "K" goes first, beginning with other.',
  ],
  [
    'two messages before it',
    { before: 2, first: { id: 'other', state: 'parked' as const } },
    'behind-key',
    '2 messages of the key "K" go first, beginning with other.',
  ],
  [
    'a failed one that blocks the key',
    { nextInMs: null, first: { id: 'other', state: 'failed' as const } },
    'key-blocked',
    'Message other of the key "K" failed, and the key waits for it. Retry, edit or discard that one.',
  ],
])('the reason of a parked message is that it waits for %s', (_, parkedKey, code, text) => {
  expect(explainKept({ ...message, parkedKey: { ...key, ...parkedKey } })).toEqual({ code, text });
});

test('the reason of a failed message includes whether its key waits for it', () => {
  const failed = { ...message, state: 'failed' } as const;
  expect(explainKept(failed)).toEqual({
    code: 'failed',
    text: 'It failed: Error: the bank is closed. Later messages of its key went on. Retry, edit or discard it.',
  });
  expect(explainKept({ ...failed, parkedKey: { ...key, nextInMs: null } })).toEqual({
    code: 'blocks-key',
    text: 'It failed: Error: the bank is closed. Its key waits for it. Retry, edit or discard it.',
  });
  expect(explainKept({ ...failed, key: null, lastError: null, reason: 'killed' }).text).toBe(
    'It failed: it killed its consumer repeatedly. Retry, edit or discard it.',
  );
  expect(explainKept({ ...failed, key: null, lastError: null, expired: true }).text).toBe(
    'It failed. It has expired: discard it, or edit it to have it handled all the same.',
  );
});

test('the reason of an ended message is how it ended', () => {
  expect(explainKept({ ...message, state: 'superseded', supersededBy: 'copy' }).text).toBe(
    'It was edited and replaced by copy.',
  );
  expect(explainKept({ ...message, state: 'discarded' }).code).toBe('discarded');
});
