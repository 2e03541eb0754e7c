import type { Metric } from '../telemetry/metric.ts';

const group = ['group'] as const;

/** Of the database: read once per interval by one relay of all, and exported by every relay with the same values. */
export const figureGauges = {
  oldestDue: {
    name: 'outbox.oldest_due.age',
    kind: 'gauge',
    unit: 's',
    meaning: 'Age of the oldest message of the topic that is due and not published; 0: none is due.',
    attributes: ['topic'],
    watch: { when: 'above 1 minute', todo: '`temporal-outbox status` names the lane and its reason.' },
  },
  unreleased: {
    name: 'outbox.unreleased.age',
    kind: 'gauge',
    unit: 's',
    meaning:
      'How late the oldest delayed message, or next try of one, is that nobody has released; 0: none is.',
    attributes: [],
    watch: { when: 'above 1 minute', todo: '`temporal-outbox doctor`: relays, locks and the clocks.' },
  },
  messages: {
    name: 'outbox.messages',
    kind: 'gauge',
    unit: '{message}',
    meaning: 'Messages that are not finished, by state.',
    attributes: ['topic', 'state'],
    watch: {
      when: '`state="failed"` above 0',
      todo: '`temporal-outbox list --state failed`, then `retry`, `edit` or `discard`.',
    },
  },
  parkedMessages: {
    name: 'outbox.parked.messages',
    kind: 'gauge',
    unit: '{message}',
    meaning: 'Messages that a group keeps for a later try.',
    attributes: group,
  },
  parkedKeys: {
    name: 'outbox.parked.keys',
    kind: 'gauge',
    unit: '{key}',
    meaning: 'Keys with kept messages.',
    attributes: group,
  },
  parkedFailed: {
    name: 'outbox.parked.failed',
    kind: 'gauge',
    unit: '{message}',
    meaning: 'Messages that a group has given up: a person decides.',
    attributes: group,
    watch: {
      when: 'above 0',
      todo: '`temporal-outbox inbox list --group … --state failed`, then `retry`, `edit` or `discard`.',
    },
  },
  parkedOldest: {
    name: 'outbox.parked.oldest.age',
    kind: 'gauge',
    unit: 's',
    meaning: 'How long the oldest kept message has waited.',
    attributes: group,
    watch: {
      when: 'above 15 minutes',
      todo: '`temporal-outbox inbox list --group …` shows the errors of handlers.',
    },
  },
  lag: {
    name: 'outbox.group.lag.messages',
    kind: 'gauge',
    unit: '{message}',
    meaning: 'Published messages that a group has not passed.',
    attributes: ['group', 'topic'],
    watch: {
      when: 'growing for 15 minutes',
      todo: 'Consumers are too few or stand still: `temporal-outbox status`.',
    },
  },
  consumers: {
    name: 'outbox.group.consumers',
    kind: 'gauge',
    unit: '{consumer}',
    meaning: 'Consumers of the group that run.',
    attributes: group,
    watch: { when: '0 while it lags', todo: 'Start one: nothing is handled.' },
  },
  addressPaused: {
    name: 'outbox.group.paused.age',
    kind: 'gauge',
    unit: 's',
    meaning:
      'How long the breaker of a consumer has paused an address of the group; of several the longest; 0: none is paused.',
    attributes: group,
    watch: {
      when: 'above 2 minutes',
      todo: 'A dependency of the handlers fails: `temporal-outbox status` has its error.',
    },
  },
  receiptsOverdue: {
    name: 'outbox.receipts.overdue',
    kind: 'gauge',
    unit: '{message}',
    meaning: 'Published messages whose receipt is late.',
    attributes: [],
    watch: {
      when: 'above 0',
      todo: 'The group has passed messages without confirming them: `temporal-outbox show <id>`.',
    },
  },
  archiveBehind: {
    name: 'outbox.archive.behind',
    kind: 'gauge',
    unit: 's',
    meaning: 'How long what should be in the history has waited for that.',
    attributes: [],
    watch: {
      when: 'above 1 day',
      todo: '`temporal-outbox doctor` says what holds it up, mostly an old transaction.',
    },
  },
  clockOffset: {
    name: 'outbox.clock.offset',
    kind: 'gauge',
    unit: 's',
    meaning: "How far the clock of a host with relays is ahead of the database's.",
    attributes: ['host'],
    watch: {
      when: 'beyond 2 s either way',
      todo: 'Synchronize the clocks: Kafka may refuse records of the future.',
    },
  },
  certificate: {
    name: 'outbox.certificate.left',
    kind: 'gauge',
    unit: 's',
    meaning:
      'How long the certificates of a server that relays reach by TLS, and those that relays show it, are still valid; below 0, one has expired.',
    attributes: ['server'],
    watch: { when: 'below 14 days', todo: 'Renew it: `temporal-outbox doctor` says whose it is.' },
  },
  relays: {
    name: 'outbox.relays',
    kind: 'gauge',
    unit: '{relay}',
    meaning: 'Relays that run.',
    attributes: [],
    watch: { when: '0', todo: 'Start a relay: nothing is delivered.' },
  },
} as const satisfies Readonly<Record<string, Metric>>;
