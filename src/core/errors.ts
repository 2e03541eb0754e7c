/** How the library answers each of its errors: may the same call succeed later, and what should the reader do now. */
interface ErrorRule {
  /** True when the same call may succeed later without a change by the caller. */
  readonly retryable: boolean;
  /** What to do next, as an instruction. */
  readonly next: string;
}

/** Every error of the library, as data. The code is stable; the texts are for people and may change. */
export const errorRules = {
  OUTBOX_ADDRESS_MISSING: {
    retryable: true,
    next: 'Create the named topics at the broker, or correct their names. A consumer creates none, and goes on by itself once they exist.',
  },
  OUTBOX_BULK_UNEXPECTED: {
    retryable: false,
    next: 'Look at a dry run again, and expect what it counts.',
  },
  OUTBOX_BULK_UNKNOWN: { retryable: false, next: 'List the bulk operations, and check the id.' },
  OUTBOX_CHANGE_UNDER_WAY: {
    retryable: false,
    next: 'Complete the other change first, by giving its command again.',
  },
  OUTBOX_CONFIG_FILE_MISSING: {
    retryable: false,
    next: 'Run the command in the folder of outbox.config.ts, or name the file by --config.',
  },
  OUTBOX_CONFIG_INVALID: { retryable: false, next: 'Correct what is named, in the configuration.' },
  OUTBOX_CONFIG_MISSING: {
    retryable: false,
    next: 'Set what is named: the environment variable, or the setting in the configuration.',
  },
  OUTBOX_CONFLICT: {
    retryable: false,
    next: 'Look at the message again: somebody else has changed it, or is about to.',
  },
  OUTBOX_DEAD_LETTER_REFUSED: {
    retryable: true,
    next: 'Make the address of dead letters, or have it take what the error names. The messages themselves are kept.',
  },
  OUTBOX_DELAY_OUT_OF_RANGE: {
    retryable: false,
    next: 'Choose a time between now and the longest delay of the topic; a raised one holds once a relay has started with it.',
  },
  OUTBOX_EPOCH_UNKNOWN: {
    retryable: false,
    next: 'Give the filter an epoch, and change it in all consumers after each restore and takeover; or do without a filter.',
  },
  OUTBOX_GROUP_MIXED: {
    retryable: false,
    next: 'Give the other consumers of the group another one, or let this one handle the named topics, too.',
  },
  OUTBOX_HANDLER_GIVEN_UP: {
    retryable: true,
    next: 'End the handler by an error: another consumer, or the next start of this one, has the message.',
  },
  OUTBOX_HANDLER_MISSING: {
    retryable: true,
    next: 'Run a consumer of the group that handles the topic.',
  },
  OUTBOX_HANDLER_STUCK: {
    retryable: true,
    next: 'Give everything that the handler waits for a time limit; raise transactionTimeout where it needs longer.',
  },
  OUTBOX_HEADER_INVALID: {
    retryable: false,
    next: 'Use short names and text values, and leave the reserved names out.',
  },
  OUTBOX_ID_INVALID: {
    retryable: false,
    next: 'Pass the whole id, a UUID, as `list` shows it; to send, one may be left out.',
  },
  OUTBOX_ID_TAKEN: {
    retryable: false,
    next: 'Use another id, or send exactly what the stored message says.',
  },
  OUTBOX_INSTALLATION_MOVED: {
    retryable: false,
    next: 'Point the relay at the database it was installed in; a restored copy must be adopted before it may deliver.',
  },
  OUTBOX_INSTALLATION_TWICE: {
    retryable: false,
    next: 'Stop the relays of the copy, and give it an id of its own: `temporal-outbox migrate --adopt --new-installation`. After a failover, stop the old primary.',
  },
  OUTBOX_KEY_INVALID: { retryable: false, next: 'Use a key of 1 to 256 bytes without NUL characters.' },
  OUTBOX_LANE_LOCKED: {
    retryable: true,
    next: 'End that transaction; select pg_terminate_backend(<pid>) does it by force.',
  },
  OUTBOX_MESSAGES_EXPIRED: {
    retryable: false,
    next: 'Let the senders send the lost messages again, and the broker keep messages for longer than a consumer may be away.',
  },
  OUTBOX_MESSAGE_UNKNOWN: {
    retryable: false,
    next: 'Check the id; messages older than the retention are gone.',
  },
  OUTBOX_MESSAGE_UNREADABLE: {
    retryable: false,
    next: 'Correct who writes it, or deploy a consumer that can read it; then let the message be tried again.',
  },
  OUTBOX_MIDDLEWARE_BROKEN: {
    retryable: false,
    next: 'Have the middleware call `next` once for every transaction, and return its promise.',
  },
  OUTBOX_MIGRATION_CHANGED: {
    retryable: false,
    next: 'Restore the migration file that was applied; add a new one for changes.',
  },
  OUTBOX_MIGRATION_MISSING: { retryable: false, next: 'Run `temporal-outbox migrate`.' },
  OUTBOX_MIGRATION_UNKNOWN: {
    retryable: false,
    next: 'Use a version of temporal-outbox that knows this migration.',
  },
  OUTBOX_NOT_IN_TRANSACTION: {
    retryable: false,
    next: 'Pass the `tx` of `prisma.$transaction(async (tx) => …)`, not the client; with fromQuery, open one first; with clientOf, wait for every statement.',
  },
  OUTBOX_OPTION_INVALID: { retryable: false, next: 'Correct the named option.' },
  OUTBOX_PACKAGE_MISSING: { retryable: false, next: 'Install the named packages beside temporal-outbox.' },
  OUTBOX_PAYLOAD_INVALID: { retryable: false, next: 'Send a payload that fits the schema of the topic.' },
  OUTBOX_PAYLOAD_TOO_LARGE: {
    retryable: false,
    next: 'Store the body elsewhere and send its address, or raise `limits.payloadBytes` and start a relay with it.',
  },
  OUTBOX_PROMISE_MISSING: {
    retryable: false,
    next: 'Return what the function starts, or make it async and await that: what nobody waits for is not in the transaction, and a Prisma call that nobody waits for never runs.',
  },
  OUTBOX_QUEUE_FULL: {
    retryable: true,
    next: 'Repair what the handler of the key fails at, or decide about the failed message that holds it; raise maxQueued where that takes longer.',
  },
  OUTBOX_RECEIPTS_MISSING: {
    retryable: false,
    next: 'Run `temporal-outbox migrate --topics`, or make the topic outbox.receipts by other means.',
  },
  OUTBOX_REF_INVALID: { retryable: false, next: 'Use a ref of 1 to 256 bytes without NUL characters.' },
  OUTBOX_REF_TAKEN: {
    retryable: false,
    next: 'Cancel or reschedule the waiting message of this ref, or choose another ref.',
  },
  OUTBOX_SERVER_REFUSED: {
    retryable: false,
    next: 'Correct the user, the password or API key, or the name of the database or namespace.',
  },
  OUTBOX_SERVER_UNAVAILABLE: {
    retryable: true,
    next: 'Start the server, install what is missing, or correct its address.',
  },
  OUTBOX_SOURCE_UNKNOWN: {
    retryable: false,
    next: 'Consume topics of a transport that can also be received from: Kafka.',
  },
  OUTBOX_STILL_DELIVERING: {
    retryable: false,
    next: 'Stop every relay of this database, wait ten seconds, and try again.',
  },
  OUTBOX_STOPPED: {
    retryable: false,
    next: 'Nothing is wrong when you have stopped it; start another one to go on.',
  },
  OUTBOX_TLS_FAILED: {
    retryable: false,
    next: 'Give the certificate of the CA that signed the server (`ssl.ca`, `tls.serverRootCACertificate`), the name that stands in its certificate (`ssl.servername`, `tls.serverNameOverride`), and a client certificate where the server wants one.',
  },
  OUTBOX_TOPIC_INVALID: {
    retryable: false,
    next: 'Use 1 to 200 characters of letters, digits, dot, underscore and hyphen.',
  },
  OUTBOX_TOPIC_UNKNOWN: {
    retryable: false,
    next: 'Check the name, or add the topic to `topics` of the configuration and start a relay.',
  },
  OUTBOX_TRANSACTION_ROLLED_BACK: {
    retryable: true,
    next: 'Let every error of a statement reject the work of the transaction; give what it waits for a time limit, or raise its own.',
  },
  OUTBOX_TRANSPORT_UNKNOWN: { retryable: false, next: 'Name a transport that the configuration defines.' },
  OUTBOX_WINDOW_LATE: {
    retryable: true,
    next: 'End transactions that stay open for long, and make handlers shorter than five seconds; until then nothing is lost, but ids are kept for longer.',
  },
  OUTBOX_WINDOW_TOO_SHORT: {
    retryable: false,
    next: "Give the consumer a longer window, or 'forever', or have the broker keep the messages for a shorter time.",
  },
} as const satisfies Record<string, ErrorRule>;

/** The stable name of an error of the library. */
export type OutboxErrorCode = keyof typeof errorRules;

/**
 * The one error class of the library.
 *
 * `code` is for programs, `message` says what happened and why, `next` what to do. `details` holds the values that
 * the message speaks of, never a payload. What the library was answered by others is kept as `cause`.
 */
export class OutboxError extends Error {
  /** Tells it from other errors where `instanceof` cannot. */
  override readonly name = 'OutboxError';
  /** The stable name of what happened. */
  readonly code: OutboxErrorCode;
  /** The values that the message speaks of, never a payload. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: OutboxErrorCode,
    message: string,
    options: { readonly details?: Readonly<Record<string, unknown>>; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
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
