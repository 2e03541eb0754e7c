import { shared } from '../core/shared.ts';

/** Names of topics that this process has warned of. */
const told = shared('unannounced-topics', () => new Set<string>());

/**
 * Warns once of a topic that no relay has announced to the database: its messages are stored and, if its name is misspelt, wait
 * forever. It is no error, because a sender may be deployed before the relay.
 */
export function warnOfUnannounced(topic: string): void {
  if (told.has(topic)) return;
  told.add(topic);
  // oxlint-disable-next-line no-restricted-globals -- it warns, and reads nothing of the environment
  process.emitWarning(
    `No relay has announced the topic "${topic}": its messages wait until one starts with it in the topics of its configuration.`,
    { code: 'OUTBOX_TOPIC_UNKNOWN' },
  );
}
