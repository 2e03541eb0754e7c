import { endSession } from './end-session.ts';
import type { ErrorRule } from './error-rule.ts';
import { groupErrorRules } from './group-errors.ts';
import { requestErrorRules } from './request-errors.ts';
import { withoutSecrets } from './secrets.ts';
import { brand } from './shared.ts';

/** Every error of the library, as data. The code is stable; the texts are for people and may change. */
export const errorRules = {
  OUTBOX_ADDRESS_MISSING: {
    retryable: true,
    next: 'Create the named topics, or correct their names. A consumer creates none, and continues by itself once they exist.',
  },
  OUTBOX_ADDRESS_UNFIT: {
    retryable: false,
    next: 'Give what is named the properties of the configuration, or the configuration its properties, or use another name. What is in a deleted queue is lost.',
  },
  OUTBOX_BULK_UNEXPECTED: {
    retryable: false,
    next: 'Rerun the dry run, and pass its count as `expect`.',
  },
  OUTBOX_BULK_UNKNOWN: { retryable: false, next: 'List the bulk operations, and check the id.' },
  OUTBOX_CHANGE_UNDER_WAY: {
    retryable: false,
    next: 'Complete the other change first, by repeating its command.',
  },
  OUTBOX_CLIENT_UNFIT: {
    retryable: false,
    next: 'Pass a client of PostgreSQL that returns rows as objects by column, and texts unchanged.',
  },
  OUTBOX_COMMAND_INVALID: {
    retryable: false,
    next: 'Add or correct what is named; `temporal-outbox <command> --help` lists arguments and options.',
  },
  OUTBOX_CONFIG_FILE_MISSING: {
    retryable: false,
    next: 'Run the command in the folder of outbox.config.ts, or pass the file as --config.',
  },
  OUTBOX_CONFIG_INVALID: { retryable: false, next: 'Correct the named settings of the configuration.' },
  OUTBOX_CONFIG_MISSING: {
    retryable: false,
    next: 'Set the named environment variable, or the setting in the configuration.',
  },
  OUTBOX_CONFLICT: {
    retryable: false,
    next: 'Read the message again: its state is not the expected one, or another operator or process has changed it.',
  },
  OUTBOX_CONNECTIONS_EXHAUSTED: {
    retryable: true,
    next: 'Lower `database.connections`, the size of the pool, or the number of processes; or raise the limit: `connection limit` of the role or the database, or `max_connections` of the server. What waits goes on by itself.',
  },
  OUTBOX_DEAD_LETTER_REFUSED: {
    retryable: true,
    next: 'Create the dead-letter topic, or fix what the error names. The messages themselves are kept.',
  },
  OUTBOX_DELAY_OUT_OF_RANGE: {
    retryable: false,
    next: 'Choose a time within the longest delay of the topic; a raised limit applies once a relay has started with it, or after `temporal-outbox migrate --topics`.',
  },
  OUTBOX_DELIVERIES_LIMITED: {
    retryable: true,
    next: 'Delete the named queue when it is empty, so that the consumer declares it again without a limit (what is in a deleted queue is lost); or give it a policy with delivery-limit -1, and set `declare` of `queues` to false. Messages are received meanwhile.',
  },
  OUTBOX_EPOCH_UNKNOWN: {
    retryable: false,
    next: 'Give the filter an epoch, and change it in all consumers after each restore and failover; or use no filter.',
  },
  OUTBOX_EXPIRY_BEFORE_DUE: {
    retryable: false,
    next: 'Let the message expire after it is due, also if its due time is kept or moved; a duration counts from the send.',
  },
  ...groupErrorRules,
  OUTBOX_HEADER_INVALID: {
    retryable: false,
    next: 'Use short names and string values, and no reserved names.',
  },
  OUTBOX_ID_INVALID: {
    retryable: false,
    next: 'Pass the whole id, a UUID, as `list` shows it. For a send the id is optional.',
  },
  OUTBOX_ID_TAKEN: {
    retryable: false,
    next: 'Use another id, or send exactly what is stored under this one; name an id once per batch.',
  },
  OUTBOX_INSTALLATION_MOVED: {
    retryable: false,
    next: 'Point the relay at the original database, or adopt the copy with `temporal-outbox migrate --adopt`.',
  },
  OUTBOX_INSTALLATION_TWICE: {
    retryable: false,
    next: 'Stop the relays of the copy, and give it an id of its own: `temporal-outbox migrate --adopt --new-installation`. After a failover, stop the old primary.',
  },
  OUTBOX_KEY_INVALID: { retryable: false, next: 'Use a key of 1 to 256 bytes without NUL characters.' },
  OUTBOX_LANE_LOCKED: {
    retryable: true,
    next: `End that transaction, by force with ${endSession}.`,
  },
  OUTBOX_MESSAGES_EXPIRED: {
    retryable: false,
    next: 'Have the lost messages sent again, and raise the retention of the topic above the longest downtime of a consumer.',
  },
  OUTBOX_MESSAGE_BUSY: {
    retryable: true,
    next: 'Repeat it in a moment: a relay, a consumer or another transaction has the message in hand.',
  },
  OUTBOX_MESSAGE_UNKNOWN: {
    retryable: false,
    next: 'Check the id. Messages older than the retention have been deleted.',
  },
  OUTBOX_MESSAGE_UNREADABLE: {
    retryable: false,
    next: 'Fix the sender, or deploy a consumer that can read it; then retry the message.',
  },
  OUTBOX_MIDDLEWARE_BROKEN: {
    retryable: false,
    next: 'Have the middleware call `next` once per transaction, and return its promise.',
  },
  OUTBOX_MIGRATION_CHANGED: {
    retryable: false,
    next: 'Restore the migration file as it was applied; make changes in a new one.',
  },
  OUTBOX_MIGRATION_MISSING: { retryable: false, next: 'Run `temporal-outbox migrate`.' },
  OUTBOX_MIGRATION_UNKNOWN: {
    retryable: false,
    next: 'Use a version of temporal-outbox that knows this migration.',
  },
  OUTBOX_NOT_IN_TRANSACTION: {
    retryable: false,
    next: 'Pass the `tx` of `prisma.$transaction(async (tx) => …)`, not the client; with Prisma 8, that of `transaction(prisma8(db), …)`; with fromQuery, open one first; with clientOf, wait for every statement. Of a client with an extension of queries, pass the one without it.',
  },
  OUTBOX_OPTION_INVALID: { retryable: false, next: 'Correct the named option.' },
  OUTBOX_PACKAGE_MISSING: { retryable: false, next: 'Install the named packages.' },
  OUTBOX_PACKAGE_UNFIT: {
    retryable: false,
    next: 'Install a supported version of the named packages, or run a later Node; docs/versions.md lists both.',
  },
  OUTBOX_PAYLOAD_INVALID: { retryable: false, next: 'Send a payload that matches the schema of the topic.' },
  OUTBOX_PAYLOAD_TOO_LARGE: {
    retryable: false,
    next: 'Store the body elsewhere and send a reference, or raise `limits.payloadBytes` and start a relay with it, or run `temporal-outbox migrate --topics`.',
  },
  OUTBOX_PORT_UNAVAILABLE: {
    retryable: true,
    next: 'Choose another port or host, or end the process that listens there.',
  },
  OUTBOX_PRIVILEGE_MISSING: {
    retryable: false,
    next: 'Grant what docs/production.md lists for this role of PostgreSQL (`temporal-outbox doctor` names what it lacks), or this client of Kafka, or the page of its transport for a client of another broker; nothing has to be restarted.',
  },
  OUTBOX_PROJECT_UNFIT: {
    retryable: false,
    next: 'Run the command beside the package.json of a project with Prisma for PostgreSQL, or with `pg`.',
  },
  OUTBOX_PROMISE_MISSING: {
    retryable: false,
    next: 'Return what the function starts, or make it async and await it: work that is not awaited is not part of the transaction, and a Prisma call that is not awaited never runs.',
  },
  OUTBOX_QUEUE_FULL: {
    retryable: true,
    next: 'Fix what makes the handler of the key fail, or decide about the failed message that holds it; raise maxQueued if that takes longer.',
  },
  OUTBOX_RECEIPTS_MISSING: {
    retryable: false,
    next: 'Run `temporal-outbox migrate --topics`, or create the topic outbox-receipts by other means.',
  },
  OUTBOX_REF_INVALID: { retryable: false, next: 'Use a ref of 1 to 256 bytes without NUL characters.' },
  OUTBOX_REF_TAKEN: {
    retryable: false,
    next: 'Cancel or reschedule the waiting message of this ref, or choose another ref.',
  },
  ...requestErrorRules,
  OUTBOX_ROW_SECURITY_ACTIVE: {
    retryable: false,
    next: 'Disable row level security on every table of the schema outbox, as its owner: rights of roles guard them. `temporal-outbox doctor` as that owner prints the statements.',
  },
  OUTBOX_SCHEDULE_REFUSED: {
    retryable: true,
    next: 'Schedule the message again with what the reason asks for, or start a relay that raises the limit.',
  },
  OUTBOX_SCHEDULE_UNKNOWN: { retryable: false, next: 'List the schedules, and check the name.' },
  OUTBOX_SCHEMA_EMPTIED: {
    retryable: false,
    next: 'Drop the schema outbox, run `temporal-outbox migrate`, and exclude the schema from what empties tables. Messages that waited in it are lost.',
  },
  OUTBOX_SERVER_REFUSED: {
    retryable: false,
    next: 'Correct the user, the password or API key, or the name of the database or namespace.',
  },
  OUTBOX_SERVER_UNAVAILABLE: {
    retryable: true,
    next: 'Start the server, install what is missing, or correct its address.',
  },
  OUTBOX_SERVER_UNFIT: {
    retryable: false,
    next: 'Use a server of the kind that the message asks for.',
  },
  OUTBOX_SOURCE_UNKNOWN: {
    retryable: false,
    next: 'Consume topics of a transport that can also receive: Kafka, RabbitMQ, Redis or RocketMQ. The message says what receipts lack.',
  },
  OUTBOX_STILL_DELIVERING: {
    retryable: false,
    next: 'Stop every relay of this database, wait ten seconds, and try again.',
  },
  OUTBOX_STOPPED: {
    retryable: false,
    next: 'If you stopped it, nothing is wrong; start another one to continue.',
  },
  OUTBOX_TLS_FAILED: {
    retryable: false,
    next: 'Set the certificate of the CA that signed the server (`tls.ca`, `tls.serverRootCACertificate`), the name in its certificate (`tls.servername`, `tls.serverNameOverride`), and a client certificate if the server requires one.',
  },
  OUTBOX_TOPIC_INVALID: {
    retryable: false,
    next: 'Use 1 to 200 letters, digits, dots, underscores and hyphens.',
  },
  OUTBOX_TOPIC_UNKNOWN: {
    retryable: false,
    next: 'Check the name, or add the topic to `topics` of the configuration and start a relay.',
  },
  OUTBOX_TRANSACTION_ROLLED_BACK: {
    retryable: true,
    next: 'Let every error of a statement reject the work of the transaction; set a time limit on what the work waits for, or raise the timeout of the transaction.',
  },
  OUTBOX_TRANSPORT_STUCK: {
    retryable: true,
    next: 'Nothing, if it stays at this once: the batch is sent again. Otherwise find out what the transport waits for without a time limit, and give it one.',
  },
  OUTBOX_TRANSPORT_UNKNOWN: { retryable: false, next: 'Name a transport that the configuration defines.' },
  OUTBOX_WINDOW_LATE: {
    retryable: true,
    next: 'End long-running transactions, and keep handlers below five seconds; until then nothing is lost, but ids are kept for longer.',
  },
  OUTBOX_WINDOW_TOO_SHORT: {
    retryable: false,
    next: "Give the consumer a longer window, or 'forever', or lower the retention of the topic.",
  },
} as const satisfies Record<string, ErrorRule>;

/** The stable name of an error of the library. */
export type OutboxErrorCode = keyof typeof errorRules;

const errors = brand<true>('error');

/**
 * The one error class of the library. `instanceof` is true for errors of every copy of the library in the process.
 *
 * `code` is for programs, `message` says what happened and why, `next` what to do. `details` holds the values that
 * the message refers to, never a payload. Errors of other libraries are kept as `cause`.
 */
export class OutboxError extends Error {
  /** True for errors of every copy of the library; a subclass knows its own. */
  static override [Symbol.hasInstance](given: unknown): boolean {
    return this === OutboxError
      ? errors.of(given) === true
      : Function.prototype[Symbol.hasInstance].call(this, given);
  }

  /** Identifies it where `instanceof` cannot. */
  override readonly name = 'OutboxError';
  /** The stable name of what happened. */
  readonly code: OutboxErrorCode;
  /** The values that the message refers to, never a payload. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: OutboxErrorCode,
    message: string,
    options: { readonly details?: Readonly<Record<string, unknown>>; readonly cause?: unknown } = {},
  ) {
    super(withoutSecrets(message), options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = options.details ?? {};
  }

  /** What to do next, as an instruction. */
  get next(): string {
    return errorRules[this.code].next;
  }

  /** True when the same call may succeed later without a change by the caller. */
  get retryable(): boolean {
    return errorRules[this.code].retryable;
  }
}

errors.put(OutboxError.prototype, true);
