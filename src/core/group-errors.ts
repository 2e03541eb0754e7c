import type { ErrorRule } from './error-rule.ts';

/** The errors of consumer groups and their handlers. */
export const groupErrorRules = {
  OUTBOX_GROUP_IN_USE: {
    retryable: false,
    next: 'Stop every consumer of the group, on all hosts, and repeat the call; one that was killed stays a member until its session ends, after ten seconds.',
  },
  OUTBOX_GROUP_MIXED: {
    retryable: false,
    next: 'Move the other consumers to another group, or handle the named topics in this one as well.',
  },
  OUTBOX_GROUP_REFUSED: {
    retryable: false,
    next: 'Stop the consumers of the other group, or send to an address of its own, or over a transport with groups, for this one.',
  },
  OUTBOX_GROUP_UNFIT: {
    retryable: true,
    next: 'Create or update the named consumer group: with order if a topic has it, and with many retries (mqadmin updateSubGroup -o true -r 1000000). A consumer continues by itself once it is there.',
  },
  OUTBOX_GROUP_UNKNOWN: {
    retryable: false,
    next: 'Check the name: `temporal-outbox status` lists the consumer groups of the database, `temporal-outbox groups` those that brokers keep.',
  },
  OUTBOX_HANDLER_GIVEN_UP: {
    retryable: true,
    next: 'Let the handler throw: another consumer, or the next start of this one, gets the message.',
  },
  OUTBOX_HANDLER_MISSING: {
    retryable: true,
    next: 'Run a consumer of the group that handles the topic.',
  },
  OUTBOX_HANDLER_STUCK: {
    retryable: true,
    next: 'Set a time limit on everything that the handler waits for, or raise transactionTimeout.',
  },
} as const satisfies Record<string, ErrorRule>;
