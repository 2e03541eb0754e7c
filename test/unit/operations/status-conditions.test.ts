import { expect, test } from 'vitest';
import type { LaneStatus, Status } from '../../../src/operations/delivery/status.ts';
import { readCondition, statusFigures } from '../../../src/operations/delivery/status-conditions.ts';

const lane: LaneStatus = {
  topic: 'orders',
  lane: 0,
  oldestDueMs: null,
  ready: 0,
  blocked: 0,
  retrying: 0,
  waiting: 0,
  failed: 0,
  hold: null,
  rateWaitMs: null,
  paused: false,
  owned: false,
  hasWork: false,
  workflowId: 'lane',
};

const quiet: Status = {
  relays: [],
  servers: [],
  lags: [],
  oldestDueMs: null,
  lanes: [],
  laneLocks: [],
  topics: [],
  settings: [],
  reconciliation: null,
  twin: null,
  groups: [],
  consumers: [],
  breakers: [],
};

const hold = { scope: 'topic', reason: 'no broker', since: new Date() } as const;
const group = { windowMs: null, seenMs: 5, parkedKeys: 1, blockedKeys: 1, oldestFailedMs: 9 };
const relay = { ...({} as Status['relays'][number]), alive: true };
const consumer = { ...({} as Status['consumers'][number]), alive: true };

const busy: Status = {
  ...quiet,
  oldestDueMs: 61_000,
  lanes: [
    { ...lane, ready: 1, blocked: 2, retrying: 3, waiting: 4, failed: 5, hold, paused: true },
    { ...lane, lane: 1, ready: 10, blocked: 20, retrying: 30, waiting: 40, failed: 50 },
  ],
  laneLocks: [{} as Status['laneLocks'][number]],
  relays: [relay, relay, { ...relay, alive: false }],
  consumers: [consumer, { ...consumer, alive: false }, { ...consumer, alive: false }],
  servers: [
    { server: 'Temporal', address: 'here', relays: 2, answering: 2, error: null, lacks: null },
    { server: 'kafka', address: 'there', relays: 2, answering: 1, error: 'away', lacks: null },
  ],
  groups: [
    { ...group, group: 'billing', parked: 3, oldestParkedMs: 700, failed: 1 },
    { ...group, group: 'audit', parked: 4, oldestParkedMs: 900, failed: 1 },
    { ...group, group: 'idle', parked: 0, oldestParkedMs: null, failed: 0 },
  ],
  breakers: [{} as Status['breakers'][number]],
  lags: [
    { group: 'billing', topic: 'orders', messages: 6 },
    { group: 'billing', topic: 'returns', messages: 7 },
    { group: 'audit', topic: 'orders', messages: 12 },
  ],
};

test('each figure of a condition is what the status counts', { tags: ['state-by-exit-code'] }, () => {
  const figures = Object.fromEntries(
    Object.entries(statusFigures).map(([name, { read }]) => [name, [read(quiet), read(busy)]]),
  );

  expect(figures).toEqual({
    oldest: [0, 61_000],
    ready: [0, 11],
    blocked: [0, 22],
    retrying: [0, 33],
    waiting: [0, 44],
    failed: [0, 55],
    holds: [0, 1],
    paused: [0, 1],
    locked: [0, 1],
    relays: [0, 2],
    away: [0, 1],
    consumers: [0, 1],
    parked: [0, 7],
    'parked-age': [0, 900],
    'parked-failed': [0, 2],
    breakers: [0, 1],
    lag: [null, 13],
  });
});

test.for([
  ['oldest > 1 minute', true],
  ['oldest > 61s', false],
  ['oldest >= 61s', true],
  ['oldest>2m', false],
  ['failed = 55', true],
  ['failed = 54', false],
  ['  failed   <  56 ', true],
  ['failed < 55', false],
  ['failed <= 55', true],
  ['relays < 2', false],
  ['oldest > 0', true],
  ['parked-age > 1s', false],
] as const)('the condition "%s" holds: %s', ([text, holds]) => {
  expect(readCondition(text).judge(busy)).toMatchObject({ holds });
});

test('a figure that nobody knows fails nothing, and is told as unknown', {
  tags: ['state-by-exit-code'],
}, () => {
  expect(readCondition('lag >= 0').judge(quiet)).toEqual({
    condition: 'lag >= 0',
    figure: null,
    unit: 'count',
    holds: false,
  });
});

test.for([
  ['falied > 0', /"falied" is no figure of the status; there are oldest, ready, .*, lag\./],
  ['constructor > 0', /no figure/],
  ['failed', /no condition/],
  ['failed ! 0', /no condition/],
  ['failed => 3', /no condition|no whole number/],
  ['failed > 1 minute', /count/],
  ['failed > -1', /count/],
  ['failed > 1; process.exit()', /count/],
  ['oldest > 60', /duration/],
  ['oldest > soon', /duration/],
  ['oldest > -1m', /duration/],
  ['', /no condition/],
] as const)('the condition "%s" is refused: %s', ([text, why]) => {
  expect(() => readCondition(text)).toThrow(
    expect.objectContaining({ code: 'OUTBOX_OPTION_INVALID', message: expect.stringMatching(why) as string }),
  );
});
