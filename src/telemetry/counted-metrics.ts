import type { Metric } from './metric.ts';

const destination = ['messaging.system', 'messaging.destination.name'] as const;
const operation = [...destination, 'messaging.operation.name'] as const;
const handling = [...operation, 'messaging.consumer.group.name'] as const;
/** Counted where it happens: each process exports its own. */
export const countedMetrics = {
  stored: {
    name: 'outbox.messages.stored',
    kind: 'counter',
    unit: '{message}',
    meaning: 'Messages that `send` and `sendBatch` have written; their transaction may still roll back.',
    attributes: ['messaging.destination.name'],
  },
  sent: {
    name: 'messaging.client.sent.messages',
    kind: 'counter',
    unit: '{message}',
    meaning: 'Messages that a relay has published and the broker has acknowledged.',
    attributes: operation,
  },
  operationDuration: {
    name: 'messaging.client.operation.duration',
    kind: 'histogram',
    unit: 's',
    meaning: 'How long the transport took for a batch.',
    attributes: operation,
  },
  publishDelay: {
    name: 'outbox.publish.delay',
    kind: 'histogram',
    unit: 's',
    meaning: 'From storing a message to its acknowledgement by the broker, on its first try.',
    attributes: destination,
    watch: { when: 'p99 above 5 s', todo: 'As for the oldest due message: more lanes, or a faster broker.' },
  },
  lateness: {
    name: 'outbox.lateness',
    kind: 'histogram',
    unit: 's',
    meaning: 'From the due time of a delayed message to its acknowledgement, on its first try.',
    attributes: destination,
    watch: {
      when: 'p99 above 5 s',
      todo: 'A lane is behind, or the machine is busy: `temporal-outbox status`.',
    },
  },
  attemptsFailed: {
    name: 'outbox.attempts.failed',
    kind: 'counter',
    unit: '{attempt}',
    meaning: 'Attempts of relays that failed, the last ones included.',
    attributes: [...destination, 'error.type'],
    watch: {
      when: 'above 1 % of what is sent',
      todo: '`temporal-outbox list --state retrying` shows the errors.',
    },
  },
  messagesFailed: {
    name: 'outbox.messages.failed',
    kind: 'counter',
    unit: '{message}',
    meaning: 'Messages that relays have given up: a person decides.',
    attributes: [...destination, 'error.type'],
    watch: { when: 'growing', todo: '`temporal-outbox list --state failed`.' },
  },
  expired: {
    name: 'outbox.messages.expired',
    kind: 'counter',
    unit: '{message}',
    meaning:
      'Messages that ended because their expiry had passed: unsent, unless an earlier try may have published them.',
    attributes: ['messaging.destination.name'],
  },
  holds: {
    name: 'outbox.holds',
    kind: 'level',
    unit: '{lane}',
    meaning: 'Lanes that wait because their topic or transport is unreachable.',
    attributes: ['messaging.destination.name'],
    watch: {
      when: 'above 0 for 5 minutes',
      todo: '`temporal-outbox status` names what is unreachable; `doctor` says why.',
    },
  },
  holdDuration: {
    name: 'outbox.hold.duration',
    kind: 'histogram',
    unit: 's',
    meaning: 'How long holds lasted that have ended, whichever relays had the lane meanwhile.',
    attributes: ['messaging.destination.name'],
  },
  lanesOwned: {
    name: 'outbox.lanes.owned',
    kind: 'level',
    unit: '{lane}',
    meaning: 'Lanes that this relay drains.',
    attributes: ['messaging.destination.name'],
  },
  takeovers: {
    name: 'outbox.lane.takeovers',
    kind: 'counter',
    unit: '{lane}',
    meaning: 'Lanes taken over from an owner that died.',
    attributes: ['messaging.destination.name'],
    watch: { when: 'growing steadily', todo: 'Relays die or freeze: look at their logs and limits.' },
  },
  receipts: {
    name: 'outbox.receipts',
    kind: 'counter',
    unit: '{message}',
    meaning: 'Messages confirmed by a receipt, sent again without one, or given up.',
    attributes: ['messaging.destination.name', 'outcome'],
  },
  reconciled: {
    name: 'outbox.reconciled',
    kind: 'counter',
    unit: '{workflow}',
    meaning: 'Workflows that did not match their row, and were started again or ended.',
    attributes: ['action'],
    watch: {
      when: 'growing steadily',
      todo: 'Workflows are terminated or lost: look at the namespace in the Temporal UI.',
    },
  },
  troubles: {
    name: 'outbox.troubles',
    kind: 'counter',
    unit: '{event}',
    meaning: 'Failures that a relay tries again, by what it was doing.',
    attributes: ['during', 'error.type'],
    watch: { when: 'growing steadily', todo: 'The log of the relay has the error and what to do next.' },
  },
  poolInUse: {
    name: 'outbox.pool.connections.in_use',
    kind: 'gauge',
    unit: '{connection}',
    meaning: 'Connections to PostgreSQL that this relay uses at the moment.',
    attributes: [],
  },
  serverUp: {
    name: 'outbox.server.up',
    kind: 'gauge',
    unit: '1',
    meaning: '1 if the server answers this relay, else 0.',
    attributes: ['server'],
    watch: { when: '0 for 1 minute', todo: '`temporal-outbox doctor` names the server and the reason.' },
  },
  consumed: {
    name: 'messaging.client.consumed.messages',
    kind: 'counter',
    unit: '{message}',
    meaning: 'Messages that a consumer, or `receive`, has ended, by outcome.',
    attributes: [...handling, 'outcome'],
  },
  processDuration: {
    name: 'messaging.process.duration',
    kind: 'histogram',
    unit: 's',
    meaning: 'How long a transaction of handlers took, of one message or of a batch.',
    attributes: [...handling, 'error.type'],
  },
  handlerTries: {
    name: 'outbox.handler.tries',
    kind: 'counter',
    unit: '{try}',
    meaning: 'Tries of handlers: each message that one was given, each time.',
    attributes: handling,
  },
  handlerFailures: {
    name: 'outbox.handler.failures',
    kind: 'counter',
    unit: '{try}',
    meaning: 'Tries that had no effect: their transaction was rolled back, of a batch all its messages.',
    attributes: [...handling, 'error.type'],
    watch: {
      when: 'above 1 % of the tries',
      todo: '`temporal-outbox inbox list --group …` shows the errors of handlers.',
    },
  },
  effectDelay: {
    name: 'outbox.effect.delay',
    kind: 'histogram',
    unit: 's',
    meaning: 'From storing a message to the commit of its effects, by the clocks of both hosts.',
    attributes: handling,
  },
  duplicates: {
    name: 'outbox.duplicates.dropped',
    kind: 'counter',
    unit: '{message}',
    meaning: 'Messages that a group had handled before, and dropped.',
    attributes: handling,
  },
  parked: {
    name: 'outbox.parked',
    kind: 'counter',
    unit: '{message}',
    meaning: 'Messages that a consumer has kept for a later try.',
    attributes: handling,
  },
} as const satisfies Readonly<Record<string, Metric>>;

/** Names of the counted metrics of one kind. */
export type MetricOf<Kind extends Metric['kind']> = {
  [Name in keyof typeof countedMetrics]: (typeof countedMetrics)[Name]['kind'] extends Kind ? Name : never;
}[keyof typeof countedMetrics];
