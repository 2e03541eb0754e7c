/** A metric of the product. Names and attributes follow OpenTelemetry's conventions where they have one. */
export interface Metric {
  /** As OpenTelemetry names it; Prometheus shows it with underscores, its unit, and `_total` for counters. */
  readonly name: string;
  /**
   * `counter`: what has happened since the process began. `level`: what is so now, counted up and down. `histogram`: how long things took.
   * `gauge`: what was read a moment ago.
   */
  readonly kind: 'counter' | 'level' | 'histogram' | 'gauge';
  /** By UCUM. */
  readonly unit: string;
  /** What it says, for the page of metrics and for those who scrape. */
  readonly meaning: string;
  /** Names of its attributes. Never a key, a ref or an id: their number is not bounded. */
  readonly attributes: readonly string[];
  /** When somebody should look, and what to do then. */
  readonly watch?: { readonly when: string; readonly then: string };
}

const destination = ['messaging.system', 'messaging.destination.name'] as const;
const operation = [...destination, 'messaging.operation.name'] as const;
const handling = [...operation, 'messaging.consumer.group.name'] as const;
const group = ['group'] as const;

/** Counted where it happens: each process exports its own. */
const counted = {
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
    watch: { when: 'p99 above 5 s', then: 'As for the oldest due message: more lanes, or a faster broker.' },
  },
  lateness: {
    name: 'outbox.lateness',
    kind: 'histogram',
    unit: 's',
    meaning: 'From the due time of a delayed message to its acknowledgement, on its first try.',
    attributes: destination,
    watch: {
      when: 'p99 above 5 s',
      then: 'A lane is behind, or the machine is busy: `temporal-outbox status`.',
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
      then: '`temporal-outbox list --state retrying` shows the errors.',
    },
  },
  messagesFailed: {
    name: 'outbox.messages.failed',
    kind: 'counter',
    unit: '{message}',
    meaning: 'Messages that relays have given up: a person decides.',
    attributes: [...destination, 'error.type'],
    watch: { when: 'growing', then: '`temporal-outbox list --state failed`.' },
  },
  expired: {
    name: 'outbox.messages.expired',
    kind: 'counter',
    unit: '{message}',
    meaning: 'Messages that ended unsent because their expiry had passed.',
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
      then: '`temporal-outbox status` names what is unreachable; `doctor` says why.',
    },
  },
  holdDuration: {
    name: 'outbox.hold.duration',
    kind: 'histogram',
    unit: 's',
    meaning: 'How long holds lasted that have ended.',
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
    watch: { when: 'growing steadily', then: 'Relays die or freeze: look at their logs and limits.' },
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
      then: 'Workflows are terminated or lost: look at the namespace in the Temporal UI.',
    },
  },
  troubles: {
    name: 'outbox.troubles',
    kind: 'counter',
    unit: '{event}',
    meaning: 'Failures that a relay tries again, by what it was doing.',
    attributes: ['during', 'error.type'],
    watch: { when: 'growing steadily', then: 'The log of the relay has the error and what to do next.' },
  },
  poolInUse: {
    name: 'outbox.pool.connections.in_use',
    kind: 'gauge',
    unit: '{connection}',
    meaning: 'Connections to PostgreSQL that this relay uses at the moment.',
    attributes: [],
  },
  consumed: {
    name: 'messaging.client.consumed.messages',
    kind: 'counter',
    unit: '{message}',
    meaning: 'Messages that a consumer has ended, by outcome.',
    attributes: [...handling, 'outcome'],
  },
  processDuration: {
    name: 'messaging.process.duration',
    kind: 'histogram',
    unit: 's',
    meaning: 'How long a transaction of handlers took, of one message or of a batch.',
    attributes: [...handling, 'error.type'],
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

/** Of the database: read once per interval by one relay of all, and exported by every relay with the same values. */
const read = {
  oldestDue: {
    name: 'outbox.oldest_due.age',
    kind: 'gauge',
    unit: 's',
    meaning: 'Age of the oldest message that is due and not published.',
    attributes: [],
    watch: { when: 'above 1 minute', then: '`temporal-outbox status` names the lane and its reason.' },
  },
  messages: {
    name: 'outbox.messages',
    kind: 'gauge',
    unit: '{message}',
    meaning: 'Messages that are not finished, by state.',
    attributes: ['topic', 'state'],
    watch: {
      when: '`state="failed"` above 0',
      then: '`temporal-outbox list --state failed`, then `retry`, `edit` or `discard`.',
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
      then: '`temporal-outbox inbox list --group … --state failed`, then `retry`, `edit` or `discard`.',
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
      then: '`temporal-outbox inbox list --group …` shows the errors of handlers.',
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
      then: 'Consumers are too few or stand still: `temporal-outbox status`.',
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
      then: 'The group has passed messages without confirming them: `temporal-outbox show <id>`.',
    },
  },
  archiveBehind: {
    name: 'outbox.archive.behind',
    kind: 'gauge',
    unit: 's',
    meaning: 'How long what should be in the history has waited for that.',
    attributes: [],
    watch: {
      when: 'above 1 hour',
      then: '`temporal-outbox doctor` says what holds it up, mostly an old transaction.',
    },
  },
  clockOffset: {
    name: 'outbox.clock.offset',
    kind: 'gauge',
    unit: 's',
    meaning: "How far the clock of the relay that read the figures is ahead of the database's.",
    attributes: [],
    watch: {
      when: 'beyond 1 s either way',
      then: 'Synchronize the clocks: Kafka may refuse records of the future.',
    },
  },
  relays: {
    name: 'outbox.relays',
    kind: 'gauge',
    unit: '{relay}',
    meaning: 'Relays that run.',
    attributes: [],
    watch: { when: '0', then: 'Start a relay: nothing is delivered.' },
  },
  serverUp: {
    name: 'outbox.server.up',
    kind: 'gauge',
    unit: '1',
    meaning: '1 if the server answers this relay, else 0.',
    attributes: ['server'],
    watch: { when: '0 for 1 minute', then: '`temporal-outbox doctor` names the server and the reason.' },
  },
} as const satisfies Readonly<Record<string, Metric>>;

/** All metrics of the product. */
export const metrics = { ...counted, ...read };

export type MetricName = keyof typeof metrics;

/** The metrics of one kind. */
export type MetricOf<Kind extends Metric['kind']> = {
  [Name in MetricName]: (typeof metrics)[Name]['kind'] extends Kind ? Name : never;
}[MetricName];

/** As Prometheus shows it. */
export function prometheusName({ kind, name, unit }: Metric): string {
  const words = name.replaceAll('.', '_');
  const seconds = unit === 's' ? '_seconds' : '';
  return `${words}${seconds}${kind === 'counter' ? '_total' : ''}`;
}
