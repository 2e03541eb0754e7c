import { capitalized } from '../core/capitalized.ts';

/** What the options of operations mean, by their names in the HTTP API, or where one name means several things, by what they are. */
export const optionTexts = {
  topic: 'of this topic',
  key: 'with this key',
  ref: 'with this ref',
  error: 'whose last error contains this text',
  createdFrom: 'stored at this time or later',
  createdTo: 'stored before this time',
  dueFrom: 'due at this time or later',
  dueTo: 'due before this time',
  group: 'of this consumer group',
  keptFor: 'kept for this reason: error, permanent, killed, invalid, unreadable, …',
  head: 'that no other message of its key goes before',
  olderThan: 'arrived at least this long ago',
  rewindTo: 'deliver again what brokers stored at this time or later',
  rewindTopics: 'only for these topics (default: all of the configuration)',
  limit: 'how many, 1 to 200',
  nextPage: 'continue where the previous list ended',
  last: 'begin with the newest, 0 to 200',
  log: 'look into the log of the broker for its record',
  reason: 'why, for the audit',
  dryRun: 'show what would happen, and change nothing',
  ratePerSecond: 'maximum number of messages per second',
  expect: 'do it only if exactly this many messages match the filter',
  dueAfter: 'due this long from now',
  dueAt: 'due at this time',
  shift: 'move each due time by this',
  replayTo: 'to this topic instead of their own',
  replayIds: 'only these, up to 1,000 UUIDs, also copies of an earlier replay',
  transport: 'all topics of this transport',
  waitForRelays: 'how long to wait for relays',
  waitForLanes: 'how long to wait for relays and open transactions',
  waitForPartitions: 'how long to wait for relays and consumers',
  partitionGroups: 'consumer groups whose order is kept: wait until they have passed all messages',
  newInstallation: 'the original stays in use, so the copy gets an id of its own',
  silenceFor: 'for how long, up to 30 days; 0 ends a silence',
  since: 'check only newer messages',
  grace: 'how long a message may be due before it is late (default: 60s)',
  tolerance: 'how far the clocks of log and database may differ (default: 5s)',
  maxTransaction: 'longest time that a sending transaction stays open (default: 60s)',
  maxDuplicates: 'allowed share of duplicates, 0 to 1 (default: any)',
} as const;

/** What the option `states` of a filter means. */
export function statesText(states: readonly string[]): string {
  return `in these states, separated by commas: ${states.join(', ')}`;
}

/** A text of the help as a sentence. */
export function asSentence(text: string): string {
  return `${capitalized(text)}.`;
}
