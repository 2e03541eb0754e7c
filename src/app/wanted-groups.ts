import type { Transport } from '../brokers/transport.ts';
import { type Config, transportOf } from '../config/config.ts';
import { OutboxError } from '../core/errors.ts';
import { shellWord } from '../core/shell-word.ts';

/** Consumer groups, and the topics from which they are to receive. */
export interface WantedGroups {
  /** Names of the groups. */
  readonly groups: readonly string[];
  /** Names of topics of the configuration. @defaultValue all of them */
  readonly topics?: readonly string[] | undefined;
}

/**
 * The addresses from which the groups are to receive, by transport.
 *
 * @throws OutboxError `OUTBOX_TOPIC_UNKNOWN`
 */
export function wantedAddresses(
  config: Pick<Config, 'topics' | 'transports'>,
  { topics }: WantedGroups,
): ReadonlyMap<Transport, readonly string[]> {
  const unknown = topics?.find((name) => config.topics.every((topic) => topic.name !== name));
  if (unknown !== undefined)
    throw new OutboxError('OUTBOX_TOPIC_UNKNOWN', `The configuration has no topic "${unknown}".`, {
      details: { topic: unknown },
    });
  const wanted = new Map<Transport, string[]>();
  for (const topic of config.topics) {
    if (topics?.includes(topic.name) === false) continue;
    const { transport } = transportOf(config, topic);
    const addresses = wanted.get(transport) ?? [];
    if (!addresses.includes(topic.rules.address)) addresses.push(topic.rules.address);
    wanted.set(transport, addresses);
  }
  return wanted;
}

/** The command that creates what the group lacks. */
export function creatingCommand(group: string, topics: WantedGroups['topics']): string {
  const only = topics === undefined ? '' : ` --topic ${topics.join(',')}`;
  return `temporal-outbox migrate --create --group ${shellWord(group)}${only}`;
}
