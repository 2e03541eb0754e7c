import { expect, test } from 'vitest';
import type { PublishOutcome } from '../../../src/brokers/transport.ts';
import { type PlanInput, planSettlement } from '../../../src/relay/plan-settlement.ts';
import { claimedMessage, claimOf } from '../../support/fixtures/claimed-messages.ts';

const acknowledged = (offset: number, partition = 0): PublishOutcome => ({
  kind: 'acknowledged',
  partition,
  offset: String(offset),
});

/** Plans a batch with the given outcomes, in order of its messages; `undefined` for one that was not handed over. */
function plan(
  messages: PlanInput['claim']['messages'],
  outcomes: readonly (PublishOutcome | undefined)[],
  overrides: Partial<PlanInput> & { readonly truncated?: boolean } = {},
) {
  const { truncated = false, ...input } = overrides;
  return planSettlement({
    owner: 'me',
    batchId: 'batch',
    progress: { cursor: '10', snapshot: '800:800:' },
    claim: claimOf(messages, { truncated }),
    outcomes,
    rules: { retryMs: [1_000, 2_000], confirm: undefined },
    ...input,
  });
}

test('an empty batch settles nothing', () => {
  expect(plan([], [])).toBeUndefined();
});

test('acknowledged messages are published by being passed: the cursor moves and no row is written', () => {
  expect(plan([claimedMessage(11), claimedMessage(14)], [acknowledged(5), acknowledged(6)])).toEqual({
    owner: 'me',
    cursor: '14',
    snapshot: '900:900:',
    changes: [],
    claimSnapshot: '900:900:',
    durable: false,
    batch: {
      id: 'batch',
      firstPosition: '11',
      lastPosition: '14',
      count: 2,
      partitions: { 0: { first: '5', count: 2 } },
    },
  });
});

test('the batch records the first offset and the number of messages of every partition', () => {
  const messages = [11, 12, 13].map((position) => claimedMessage(position));

  const settlement = plan(messages, [acknowledged(7, 1), acknowledged(0, 0), acknowledged(8, 1)]);

  expect(settlement?.batch?.partitions).toEqual({ 0: { first: '0', count: 1 }, 1: { first: '7', count: 2 } });
});

test.each([
  ['that is not a number, such as an entry id of Redis,', '1795432000000-0'],
  ['that is larger than a column for offsets holds', '9223372036854775808'],
])('an offset %s is not written into numeric columns', (_, offset) => {
  const outcomes: PublishOutcome[] = [{ kind: 'acknowledged', partition: 0, offset }];

  const settlement = plan([claimedMessage(11, { ownWorkflow: 'own' })], outcomes);

  expect(settlement?.changes).toMatchObject([{ to: 'published', offset: null }]);
  expect(settlement?.batch?.partitions).toEqual({});
});

test('the largest offset that a column holds is written', () => {
  const outcomes: PublishOutcome[] = [{ kind: 'acknowledged', partition: 0, offset: '9223372036854775807' }];

  const settlement = plan([claimedMessage(11, { ownWorkflow: 'own' })], outcomes);

  expect(settlement?.changes).toMatchObject([{ to: 'published', offset: '9223372036854775807' }]);
});

test('a transport without offsets leaves the partitions of the batch empty', () => {
  const settlement = plan([claimedMessage(11)], [{ kind: 'acknowledged', partition: null, offset: null }]);

  expect(settlement?.batch).toMatchObject({ count: 1, partitions: {} });
});

test('a rejected message retries after the delay of its attempt, and can still be canceled', () => {
  expect(plan([claimedMessage(11, { attempts: 1 })], [{ kind: 'rejected', error: 'no' }])?.changes).toEqual([
    {
      id: 'id-11',
      to: 'retrying',
      attempt: 'rejected',
      error: 'no',
      retryInMs: 2_000,
      maybePublished: false,
    },
  ]);
});

test('an ambiguous message retries, and can no longer be canceled', () => {
  expect(plan([claimedMessage(11)], [{ kind: 'ambiguous', error: 'lost' }])?.changes).toEqual([
    {
      id: 'id-11',
      to: 'retrying',
      attempt: 'ambiguous',
      error: 'lost',
      retryInMs: 1_000,
      maybePublished: true,
    },
  ]);
});

test.each(['rejected', 'ambiguous'] as const)('a %s message without attempts left is failed', (kind) => {
  const settlement = plan([claimedMessage(11, { attempts: 2 })], [{ kind, error: 'no' }]);

  expect(settlement?.changes).toMatchObject([
    { to: 'failed', attempt: kind, maybePublished: kind === 'ambiguous' },
  ]);
});

test('a blocked message that was in a request without a clear answer can no longer be canceled', () => {
  const settlement = plan(
    [claimedMessage(11, { key: 'K' }), claimedMessage(12, { key: 'K' })],
    [
      { kind: 'ambiguous', error: 'odd' },
      { kind: 'blocked', onWire: true },
    ],
  );

  expect(settlement?.changes).toMatchObject([
    { to: 'retrying', maybePublished: true },
    { to: 'blocked', maybePublished: true },
  ]);
});

test('a batch of messages that are all behind retrying ones becomes blocked, and the cursor moves on', () => {
  const settlement = plan([claimedMessage(11, { blocked: true })], [undefined]);

  expect(settlement).toMatchObject({ cursor: '11', snapshot: '900:900:', changes: [{ to: 'blocked' }] });
  expect(settlement).not.toHaveProperty('batch');
});

test('a message whose workflow waits for the outcome has its offset in its row', () => {
  expect(plan([claimedMessage(11, { ownWorkflow: 'own' })], [acknowledged(5, 3)])?.changes).toEqual([
    { id: 'id-11', to: 'published', attempt: 'acknowledged', partition: 3, offset: '5' },
  ]);
});

const late = { cursor: '6', snapshot: '850:850:' };

test('a truncated batch that ends at or below the cursor keeps cursor and snapshot, and moves the late cursor', () => {
  const batch = [claimedMessage(4), claimedMessage(10)];
  const outcomes = [acknowledged(5), acknowledged(6)];
  const moved = {
    cursor: '10',
    snapshot: '800:800:',
    late: { cursor: '10', snapshot: '900:900:' },
    changes: [],
  };
  expect(plan(batch, outcomes, { truncated: true })).toMatchObject(moved);
  const progress = { cursor: '10', snapshot: '800:800:', late };
  expect(plan(batch, outcomes, { truncated: true, progress })).toMatchObject(moved);
});

test('what is left of late messages ends with a batch that is complete, or an empty one', () => {
  const progress = { cursor: '10', snapshot: '800:800:', late };
  const ended = plan([claimedMessage(7)], [acknowledged(5)], { progress });
  expect(ended).toMatchObject({ cursor: '10', snapshot: '900:900:', changes: [] });
  expect(ended).not.toHaveProperty('late');
  const empty = plan([], [], { progress });
  expect(empty).toMatchObject({ cursor: '10', snapshot: '900:900:', changes: [] });
  expect(empty).not.toHaveProperty('late');
});

test('a truncated batch that ends below the late cursor moves nothing and stores the published messages', () => {
  const progress = { cursor: '20', snapshot: '800:800:', late: { cursor: '15', snapshot: '850:850:' } };
  const settlement = plan([claimedMessage(4), claimedMessage(10)], [acknowledged(5), acknowledged(6)], {
    truncated: true,
    progress,
  });

  expect(settlement).toMatchObject(progress);
  expect(settlement?.changes).toEqual([
    { id: 'id-4', to: 'published', partition: 0, offset: '5' },
    { id: 'id-10', to: 'published', partition: 0, offset: '6' },
  ]);
});

test('a late batch that is complete moves the snapshot and leaves the cursor', () => {
  const settlement = plan([claimedMessage(4)], [acknowledged(5)]);

  expect(settlement).toMatchObject({ cursor: '10', snapshot: '900:900:', changes: [] });
});

test('a truncated batch that goes beyond the cursor has read all late rows and moves both', () => {
  const settlement = plan([claimedMessage(4), claimedMessage(11)], [acknowledged(5), acknowledged(6)], {
    truncated: true,
  });

  expect(settlement).toMatchObject({ cursor: '11', snapshot: '900:900:', changes: [] });
});

test.each([
  [
    'a settle that changes rows is durable',
    [acknowledged(5), { kind: 'rejected', error: 'no' }],
    false,
    true,
  ],
  ['a settle is durable while more is waiting', [acknowledged(5), acknowledged(6)], true, true],
  [
    'a settle that only moves the cursor past the last arrivals is not durable',
    [acknowledged(5), acknowledged(6)],
    false,
    false,
  ],
] as const)('%s', (_what, outcomes, truncated, durable) => {
  const settlement = plan([claimedMessage(11), claimedMessage(12)], outcomes, { truncated });

  expect(settlement?.durable).toBe(durable);
});

test('a hold before anything was sent settles nothing', () => {
  const messages = [claimedMessage(11), claimedMessage(12, { blocked: true })];

  expect(plan(messages, [{ kind: 'deferred', onWire: false }, undefined])).toBeUndefined();
});

test('a hold of the whole batch leaves the cursor and marks only the messages on the wire', () => {
  const settlement = plan(
    [claimedMessage(11), claimedMessage(12), claimedMessage(13, { blocked: true })],
    [{ kind: 'deferred', onWire: true }, { kind: 'deferred', onWire: false }, undefined],
  );

  expect(settlement).toEqual({
    owner: 'me',
    cursor: '10',
    snapshot: '800:800:',
    changes: [{ id: 'id-11', to: 'ready', maybePublished: true }],
    claimSnapshot: '900:900:',
    durable: true,
  });
});

test('when one partition is on hold, the others are passed and its messages are put back', () => {
  const settlement = plan(
    [claimedMessage(11), claimedMessage(12)],
    [{ kind: 'deferred', onWire: false }, acknowledged(5)],
  );

  expect(settlement).toMatchObject({
    cursor: '12',
    snapshot: '900:900:',
    batch: { count: 1, firstPosition: '12' },
  });
  expect(settlement?.changes).toEqual([{ id: 'id-11', to: 'ready', maybePublished: false }]);
});
