import { expect, test } from 'vitest';
import { explainDelivery, type Why } from '../../../src/operations/messages/why.ts';
import type { DeliveryFacts } from '../../../src/store/message/why.ts';

/** A ready message of a lane that is being drained. */
const ready: DeliveryFacts = {
  state: 'ready',
  key: 'K',
  topic: 'orders',
  archived: false,
  dueInMs: null,
  dueAt: null,
  expiresAt: null,
  maybePublished: false,
  lastError: null,
  supersededBy: null,
  confirmBy: null,
  topicKnown: true,
  transport: 'kafka',
  topicPaused: false,
  transportPaused: false,
  changing: false,
  hold: null,
  rate: null,
  owned: true,
  wantedSince: null,
  blocker: null,
  before: 0,
  relays: 1,
};
const hold = {
  scope: 'transport',
  reason: 'connection refused',
  since: new Date('2026-11-20T10:00:00.000Z'),
} as const;
const blocker = { id: 'm-1', state: 'retrying' } as const;
const dueAt = new Date('2026-11-22T10:00:00.000Z');

test.each<[Why['code'], Partial<DeliveryFacts>, RegExp]>([
  ['next', {}, /about to publish/],
  ['queued', { before: 1 }, /^1 message of its lane goes first\.$/],
  ['queued', { before: 10_000 }, /^10000 or more messages/],
  [
    'rate',
    { rate: { messages: 50, perMs: 60_000, waitMs: 1_900 } },
    /^It waits for the rate of the topic "orders", 50 per 1 min 0 s: the next message goes in 2 s\.$/,
  ],
  [
    'rate',
    { rate: { messages: 1, perMs: 1_000, waitMs: 5 }, before: 1 },
    /in 5 ms, 1 message of its lane before it\.$/,
  ],
  ['next', { rate: { messages: 50, perMs: 60_000, waitMs: 0 } }, /about to publish/],
  ['no-relay', { rate: { messages: 1, perMs: 1_000, waitMs: 5 }, owned: false }, /^No relay drains/],
  ['no-relay', { owned: false }, /^No relay drains its lane at the moment\.$/],
  [
    'no-relay',
    { owned: false, wantedSince: new Date('2026-11-20T10:00:00.000Z') },
    /has waited for one since 2026-11-20T10/,
  ],
  ['no-relay', { owned: false, relays: 0 }, /^No relay is running: start one\.$/],
  ['no-relay', { owned: false, relays: 0, hold, blocker }, /^No relay is running: start one\.$/],
  ['no-relay', { owned: false, relays: 0, topicKnown: false }, /^No relay is running: start one\.$/],
  ['no-relay', { state: 'blocked', owned: false, relays: 0, hold }, /^No relay is running: start one\.$/],
  [
    'no-relay',
    { state: 'retrying', dueInMs: -5_000, dueAt, lastError: 'no', owned: false, relays: 0 },
    /the next has been due for 5 s\. No relay is running/,
  ],
  ['topic-paused', { topicPaused: true, owned: false, relays: 0, hold }, /^The topic "orders" is paused\.$/],
  ['behind-key', { state: 'blocked', blocker, owned: false, relays: 0, hold }, /m-1/],
  ['lane-hold', { owned: false, hold }, /^Its transport cannot be reached/],
  [
    'no-relay',
    { state: 'waiting', dueInMs: -90_400, dueAt, relays: 0 },
    /^It has been due for 1 min 30 s\. No relay is running/,
  ],
  ['behind-key', { blocker, before: 5 }, /^Message m-1 of the key "K" comes first, and is retrying\.$/],
  ['behind-key', { state: 'blocked', blocker }, /m-1/],
  ['behind-key', { state: 'blocked' }, /free again/],
  [
    'lane-hold',
    { hold, blocker },
    /^Its transport cannot be reached since 2026-11-20T10.*: connection refused\.$/,
  ],
  ['lane-hold', { hold: { ...hold, scope: 'settle' } }, /^The database refuses/],
  ['lanes-changing', { changing: true, hold }, /being changed/],
  ['transport-paused', { transportPaused: true, hold }, /^The transport "kafka" is paused\.$/],
  ['topic-paused', { topicPaused: true, transportPaused: true }, /^The topic "orders" is paused\.$/],
  [
    'topic-unknown',
    { topicKnown: false },
    /^No relay has announced the topic "orders": add it to `topics` of/,
  ],
  [
    'due-later',
    { state: 'waiting', dueInMs: 11_700_000, dueAt },
    /^It is due in 3 h 15 min, at 2026-11-22T10/,
  ],
  ['overdue', { state: 'waiting', dueInMs: -90_400, dueAt }, /^It has been due for 1 min 30 s; no relay/],
  [
    'retrying',
    { state: 'retrying', dueInMs: 400, dueAt, lastError: 'no' },
    /failed \(no\); the next is in 400 ms/,
  ],
  ['overdue', { state: 'retrying', dueInMs: -5_000, dueAt }, /the next has been due for 5 s/],
  ['failed', { state: 'failed', lastError: 'no' }, /^It failed: no\. Retry, edit or discard it\.$/],
  ['failed', { state: 'failed', lastError: 'no.' }, /^It failed: no\. Retry, edit or discard it\.$/],
  ['published', { state: 'published' }, /^It is published\.$/],
  ['unconfirmed', { state: 'published', confirmBy: dueAt }, /receipt .* by 2026-11-22T10/],
  ['confirmed', { state: 'confirmed' }, /confirmed/],
  ['canceled', { state: 'canceled' }, /will not be published/],
  [
    'expired',
    { state: 'expired', expiresAt: dueAt },
    /^It expired at 2026-11-22T10:00:00.000Z and is not sent\.$/,
  ],
  [
    'expired',
    { state: 'expired', expiresAt: dueAt, maybePublished: true },
    /an earlier try may have published it\.$/,
  ],
  ['superseded', { state: 'superseded', supersededBy: 'm-2' }, /replaced by m-2/],
  ['discarded', { state: 'discarded' }, /discarded/],
  ['archived', { state: 'published', archived: true }, /ended as published and is in the history/],
])('the reason %s is given for %o', (code, facts, text) => {
  const why = explainDelivery({ ...ready, ...facts });

  expect(why.code).toBe(code);
  expect(why.text).toMatch(text);
});
