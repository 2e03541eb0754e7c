import { expect, test } from 'vitest';
import { readConfig } from '../../../src/config/read-config.ts';
import type { Figures } from '../../../src/store/figures/figures.ts';
import type { GroupStatus } from '../../../src/store/inbox/status.ts';
import { type AlertRuleName, alertRules } from '../../../src/watch/figures.ts';
import { firingRules } from '../../../src/watch/firing-rules.ts';
import { alertOptions, thresholdsOf } from '../../../src/watch/settings.ts';
import { quietFigures, quietGroup } from '../../support/fixtures/quiet-figures.ts';

const defaults = thresholdsOf(readConfig(alertOptions, {}));

const group = (figures: Partial<GroupStatus>): GroupStatus => ({ ...quietGroup, ...figures });
const server = {
  server: 'kafka',
  address: 'kafka:9092',
  relays: 2,
  answering: 1,
  error: 'refused',
  lacks: null,
};
const certificate = { server: 'kafka', whose: 'authority' } as const;
const minute = 60_000;
const day = 24 * 60 * minute;

const due = (oldestDueMs: number) => ({
  topic: 'orders',
  announced: true,
  oldestDueMs,
  reason: 'it is paused',
});

const unattended = (seenMs: number) => ({ group: 'billing', consumers: 0, seenMs, unread: 20_000 });

/** By rule: figures at its default threshold, beyond it, and what is told. */
const cases: Readonly<
  Record<AlertRuleName, { at: Partial<Figures>; beyond: Partial<Figures>; told: readonly string[] }>
> = {
  oldestDue: {
    at: { due: [due(minute)] },
    beyond: { due: [due(minute + 1_000)] },
    told: [
      'topic orders',
      'the oldest due message of topic orders has waited for 1 minute 1 second (at most 1 minute); it is paused',
      'temporal-outbox status',
    ],
  },
  unannounced: {
    at: { due: [{ ...due(minute), announced: false }] },
    beyond: { due: [{ ...due(minute + 1_000), announced: false }] },
    told: [
      'topic orders',
      'no relay delivers topic orders, of which a message has been due for 1 minute 1 second (at most 1 minute); add it to `topics`, or withdraw its messages',
      'temporal-outbox list --topic orders',
    ],
  },
  successRate: {
    at: { tries: { published: 99, failed: 1 } },
    beyond: { tries: { published: 98, failed: 2 } },
    told: [
      '',
      '98 % of the tries of the last five minutes succeeded (at least 99 %); 2 of 100 tries failed',
      'temporal-outbox list --state retrying,failed',
    ],
  },
  lateness: {
    at: { unreleasedMs: minute },
    beyond: { unreleasedMs: 5 * minute },
    told: ['', 'a delayed message is 5 minutes late (at most 1 minute)', 'temporal-outbox doctor'],
  },
  failed: {
    at: { groups: [group({ failed: 0 })] },
    beyond: { messages: [{ topic: 'orders', state: 'failed', messages: 2 }] },
    told: [
      'topic orders',
      '2 messages of topic orders failed and wait for a person (at most 0 messages)',
      'temporal-outbox list --topic orders --state failed',
    ],
  },
  hold: {
    at: { holds: [{ topic: 'orders', lanes: 1, heldMs: minute, scope: 'topic', reason: 'no leader' }] },
    beyond: {
      holds: [{ topic: 'orders', lanes: 1, heldMs: 2 * minute, scope: 'topic', reason: 'no leader' }],
    },
    told: [
      'topic orders',
      'topic orders has been on hold for 2 minutes (at most 1 minute); no leader',
      'temporal-outbox status',
    ],
  },
  receipts: {
    at: { receiptsOverdue: [{ topic: 'orders', messages: 3, oldestMs: 10 * minute }] },
    beyond: { receiptsOverdue: [{ topic: 'orders', messages: 3, oldestMs: 20 * minute }] },
    told: [
      'topic orders',
      'a receipt of topic orders has been overdue for 20 minutes (at most 10 minutes); 3 messages of it lack theirs',
      'temporal-outbox status',
    ],
  },
  parked: {
    at: { groups: [group({ oldestParkedMs: 15 * minute })] },
    beyond: { groups: [group({ oldestParkedMs: 20 * minute, parked: 7, blockedKeys: 2 })] },
    told: [
      'group billing',
      'a message of group billing has been parked for 20 minutes (at most 15 minutes); 7 are parked, and 2 keys wait for a person',
      'temporal-outbox inbox list --group billing --head',
    ],
  },
  lag: {
    at: { lags: [{ group: 'billing', topic: 'orders', messages: 10_000 }] },
    beyond: { lags: [{ group: 'billing', topic: 'orders', messages: 10_001 }] },
    told: [
      'group billing of orders',
      'group billing of orders is 10,001 messages behind (at most 10,000 messages)',
      'temporal-outbox status',
    ],
  },
  noConsumer: {
    at: {
      attended: [
        unattended(5 * minute),
        { ...unattended(day), consumers: 1 },
        { ...unattended(day), unread: 0 },
      ],
    },
    beyond: { attended: [unattended(6 * minute)] },
    told: [
      'group billing',
      'no consumer of group billing has run for 6 minutes (at most 5 minutes); 20,000 messages wait for it',
      'temporal-outbox status',
    ],
  },
  pausedAddress: {
    at: {
      pausedAddresses: [{ group: 'billing', address: 'orders', pausedMs: 2 * minute, error: 'refused' }],
    },
    beyond: {
      pausedAddresses: [{ group: 'billing', address: 'orders', pausedMs: 3 * minute, error: 'refused' }],
    },
    told: [
      'group billing at orders',
      'group billing at orders has been paused for 3 minutes: a dependency of its handlers fails (at most 2 minutes); refused',
      'temporal-outbox status',
    ],
  },
  stalledGroup: {
    at: { standing: [{ group: 'billing', topic: 'orders', standsMs: 15 * minute, sinceMs: 15 * minute }] },
    beyond: {
      standing: [{ group: 'billing', topic: 'orders', standsMs: 30 * minute, sinceMs: 30 * minute }],
    },
    told: [
      'group billing of orders',
      'group billing of orders has not moved for 30 minutes, and messages wait for it (at most 15 minutes)',
      'temporal-outbox status',
    ],
  },
  drift: {
    at: { drift: { restarted: 10, ended: 0, agoMs: 1 } },
    beyond: { drift: { restarted: 10, ended: 1, agoMs: 1 } },
    told: [
      '',
      'the last comparison with Temporal repaired 11 workflows (at most 10 workflows); 10 started, 1 ended',
      'temporal-outbox doctor',
    ],
  },
  archive: {
    at: { archive: { behindMs: day, leaves: 1 } },
    beyond: { archive: { behindMs: 2 * day, leaves: 3 } },
    told: ['', 'the archive is 2 days behind (at most 1 day); 3 leaves wait', 'temporal-outbox doctor'],
  },
  clock: {
    at: { clocks: [{ host: 'web-1', aheadMs: -2_000 }] },
    beyond: {
      clocks: [
        { host: 'web-1', aheadMs: -3_000 },
        { host: 'web-2', aheadMs: 1_000 },
      ],
    },
    told: [
      'host web-1',
      "the clock of host web-1, where a relay runs, is off the database's by 3 seconds (at most 2 seconds); it is behind",
      'temporal-outbox doctor # on web-1',
    ],
  },
  serverAway: {
    at: { servers: [{ ...server, awayMs: minute }] },
    beyond: { servers: [{ ...server, awayMs: 2 * minute }] },
    told: [
      'kafka kafka:9092',
      'kafka kafka:9092 has been away for 2 minutes (at most 1 minute); 1 of 2 relays reach it: refused',
      'temporal-outbox doctor',
    ],
  },
  certificate: {
    at: { certificates: [{ ...certificate, leftMs: 14 * day }] },
    beyond: { certificates: [{ ...certificate, leftMs: 13 * day }] },
    told: [
      'kafka (authority)',
      'a certificate for kafka (authority) expires in 13 days (at least 14 days); relays trust it',
      'temporal-outbox doctor',
    ],
  },
};

test.each(Object.entries(cases))(
  'the rule %s fires beyond its default threshold, not at it, and not if it is off',
  { tags: ['alerts-told-once'] },
  (rule, { at, beyond, told }) => {
    expect(firingRules({ ...quietFigures, ...at }, defaults)).toEqual([]);
    expect(firingRules({ ...quietFigures, ...beyond }, { ...defaults, [rule]: false })).toEqual([]);

    const [subject, text, next] = told;
    expect(firingRules({ ...quietFigures, ...beyond }, defaults)).toEqual([
      expect.objectContaining({ rule, subject, text, next, figure: expect.any(Number) }),
    ]);
  },
);

test('no rule fires by quiet figures, or for a server that answers at the threshold 0', () => {
  const none = Object.fromEntries(
    Object.keys(alertRules).map((name) => [name, name === 'successRate' ? 1 : 0]),
  );
  const answering = { ...server, answering: 2, error: null, awayMs: null };

  expect(firingRules({ ...quietFigures, servers: [answering] }, { ...defaults, ...none })).toEqual([]);
});

test('a rule of how long something lasts says since when, a reason ends no sentence, and rounding hides no threshold', () => {
  const holds = [
    { topic: 'orders', lanes: 1, heldMs: 69_000, scope: 'topic' as const, reason: 'create it..' },
  ];
  expect(firingRules({ ...quietFigures, holds }, defaults)).toMatchObject([
    {
      lastsMs: 69_000,
      text: 'topic orders has been on hold for 1 minute 9 seconds (at most 1 minute); create it',
    },
  ]);
  const failed = firingRules({ ...quietFigures, groups: [group({ failed: 1 })] }, defaults);
  expect(failed.map(({ lastsMs }) => lastsMs)).toEqual([undefined]);
});

test('a late topic mutes no other, and one that no relay delivers is told by a rule of its own', () => {
  const other = { ...due(2 * minute), topic: 'bills', reason: null };
  const dead = { ...due(day), topic: 'old', announced: false, reason: null };
  const fired = firingRules({ ...quietFigures, due: [due(3 * minute), other, dead] }, defaults);
  expect(fired.map(({ rule, subject }) => `${rule} of ${subject}`)).toEqual([
    'oldestDue of topic orders',
    'oldestDue of topic bills',
    'unannounced of topic old',
  ]);
});

test('failures of a few tries are no success rate', () => {
  expect(firingRules({ ...quietFigures, tries: { published: 0, failed: 19 } }, defaults)).toEqual([]);
  expect(firingRules({ ...quietFigures, tries: { published: 0, failed: 20 } }, defaults)).toHaveLength(1);
});

test('kept messages that failed have the command of their group', () => {
  expect(firingRules({ ...quietFigures, groups: [group({ failed: 1 })] }, defaults)).toMatchObject([
    { subject: 'group billing', next: 'temporal-outbox inbox list --group billing --state failed' },
  ]);
});

test('a server that relays reach at one address, and not at another, is told once, by the longer time', () => {
  const servers = [
    { ...server, awayMs: 3 * minute },
    { ...server, awayMs: 2 * minute },
  ];
  expect(firingRules({ ...quietFigures, servers }, defaults)).toMatchObject([{ figure: 3 * minute }]);
});

test('the certificates of client and authority are told apart, also when one has expired', () => {
  const certificates = [
    { ...certificate, whose: 'client' as const, leftMs: -2 * day },
    { ...certificate, leftMs: 2 * day },
  ];
  expect(firingRules({ ...quietFigures, certificates }, defaults)).toMatchObject([
    {
      subject: 'kafka (client)',
      figure: -2 * day,
      text: 'a certificate for kafka (client) has expired, 2 days ago (at least 14 days); relays show it',
    },
    { subject: 'kafka (authority)', figure: 2 * day },
  ]);
});

test('a comparison with Temporal of hours ago is no news', () => {
  const drift = (agoMs: number) => ({ ...quietFigures, drift: { restarted: 20, ended: 0, agoMs } });
  expect(firingRules(drift(14 * minute), defaults)).toMatchObject([{ rule: 'drift', figure: 20 }]);
  expect(firingRules(drift(2 * 60 * minute), defaults)).toEqual([]);
});
