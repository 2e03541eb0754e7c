import { billing, type Incident } from './incident.ts';

const minute = 60;
const dependency = 'fetch failed: connect ECONNREFUSED 127.0.0.1:8899';

/** Four orders a second, until the group has caught up at 60 a second. */
const unreadOrders = (second: number): number =>
  second < 293 ? 4 * second : Math.max(2, 1_172 - 60 * (second - 293));
/** All at once after six seconds; read at 400 a second once the group runs again. */
const unreadRush = (second: number): number => {
  if (second < 6) return 0;
  return second < 257 ? 20_000 : Math.max(2, 20_000 - 400 * (second - 257));
};

/** Incidents of the consumer group that relays can tell of. */
const standingFor = (ms: number) => ({ group: 'billing', topic: 'orders', standsMs: ms, sinceMs: ms });

export const groupIncidents: readonly Incident[] = [
  {
    name: '3: a poison message is in a busy key',
    at: '13:09:34',
    seconds: 133,
    figures: (second) => ({
      groups: billing({ parked: 1 + Math.floor(second / 6), parkedKeys: 1, oldestParkedMs: second * 1_000 }),
    }),
    tells: [
      {
        rule: 'parked',
        subject: 'group billing',
        because: /\d+ are parked, and 0 keys wait for a person$/,
        since: 0,
        beyond: minute,
        over: 133,
      },
    ],
  },
  {
    name: '5: a dependency of the handlers is away for 108 s',
    at: '13:11:52',
    seconds: 128,
    figures: (second) => ({
      groups: billing({ parked: 4, parkedKeys: 4, oldestParkedMs: Math.max(0, second - 1) * 1_000 }),
      pausedAddresses:
        second < 7 || second >= 122
          ? []
          : [{ group: 'billing', address: 'orders', pausedMs: (second - 7) * 1_000, error: dependency }],
    }),
    tells: [
      {
        rule: 'pausedAddress',
        subject: 'group billing at orders',
        because: /connect ECONNREFUSED 127\.0\.0\.1:8899$/,
        since: 7,
        beyond: 7 + minute,
        over: 122,
      },
      {
        rule: 'parked',
        subject: 'group billing',
        because: /4 are parked/,
        since: 1,
        beyond: 1 + minute,
        over: 128,
      },
    ],
  },
  {
    name: '10: all consumers of the group are stopped for 293 s',
    at: '13:19:21',
    seconds: 320,
    figures: (second) => ({
      attended: [
        {
          group: 'billing',
          consumers: second < 293 ? 0 : 2,
          seenMs: second < 293 ? second * 1_000 : 900,
          unread: unreadOrders(second),
        },
      ],
      lags: [{ group: 'billing', topic: 'orders', messages: unreadOrders(second) }],
      standing: second < 293 ? [standingFor(Math.max(0, second - 1) * 1_000)] : [],
    }),
    tells: [
      {
        rule: 'noConsumer',
        subject: 'group billing',
        because: /[\d,]+ messages wait for it$/,
        since: 0,
        beyond: 2 * minute,
        over: 293,
      },
      {
        rule: 'stalledGroup',
        subject: 'group billing of orders',
        because: /group billing of orders has not moved/,
        since: 1,
        beyond: 1 + 2 * minute,
        over: 293,
      },
      {
        rule: 'lag',
        subject: 'group billing of orders',
        because: /group billing of orders is [\d,]+ messages behind/,
        since: 126,
        beyond: 126,
        over: 305,
      },
    ],
  },
  {
    name: '11: 20,000 messages come due at one instant, and the group is stopped',
    at: '13:19:57',
    seconds: 310,
    figures: (second) => ({
      due: second < 6 ? [{ topic: 'rush', announced: true, oldestDueMs: second * 1_000, reason: null }] : [],
      lags: [{ group: 'billing', topic: 'rush', messages: unreadRush(second) }],
    }),
    tells: [
      {
        rule: 'lag',
        subject: 'group billing of rush',
        because: /group billing of rush is 20,000 messages behind/,
        since: 6,
        beyond: 6,
        over: 306,
      },
    ],
  },
  {
    name: '13: a bad consumer keeps 500 messages as failed, which are retried after 150 s',
    at: '13:37:25',
    seconds: 201,
    figures: (second) => ({
      groups: billing(
        second < 150
          ? { failed: second < 2 ? 0 : 500, oldestFailedMs: second * 1_000, blockedKeys: 0 }
          : {
              parked: Math.max(0, 500 - 10 * (second - 150)),
              parkedKeys: 20,
              oldestParkedMs: (second - 150) * 1_000,
            },
      ),
    }),
    tells: [
      {
        rule: 'failed',
        subject: 'group billing',
        because: /500 messages of group billing failed and wait for a person/,
        since: 2,
        beyond: 2,
        over: 150,
      },
    ],
  },
];
