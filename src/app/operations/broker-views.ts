import { type Config, transportOf } from '../../config/config.ts';
import { OutboxError } from '../../core/errors.ts';
import type { BrokerView } from '../../operations/delivery/partitions.ts';
import type { Rewindable, RewindableBroker } from '../../operations/inbox/rewind.ts';
import type { VerifiedLog } from '../../operations/verify/verify.ts';
import type { TopicCounts } from '../../store/lane/lanes-change.ts';
import { wantedAddresses } from '../wanted-groups.ts';

/** The logs that can be read, each with its topics. Other transports have no log. */
export function logsOf({
  topics,
  transports,
}: Pick<Config, 'topics' | 'transports'>): readonly VerifiedLog[] {
  return Object.values(transports).flatMap((transport) => {
    const { deliveryLog: reader, offsets } = transport;
    if (reader === undefined) return [];
    const mine = topics.filter((topic) => transportOf({ transports }, topic).transport === transport);
    if (mine.length === 0) return [];
    const logged = mine.map(({ name, rules }) => ({ topic: name, address: rules.address }));
    const committed = offsets && ((group: string, address: string) => offsets.committed(group, address));
    return [{ reader, topics: logged, committed }];
  });
}

/**
 * The brokers of these topics, by whether they can set a group back.
 *
 * @throws OutboxError `OUTBOX_TOPIC_UNKNOWN`
 */
export function rewindableOf(
  config: Pick<Config, 'topics' | 'transports'>,
  topics?: readonly string[],
): Rewindable {
  const brokers: RewindableBroker[] = [];
  const unable: string[] = [];
  for (const [transport, addresses] of wantedAddresses(config, { groups: [], topics })) {
    if (transport.rewindGroup === undefined) unable.push(transport.name);
    else brokers.push({ addresses, rewind: async (how) => (await transport.rewindGroup?.(how)) ?? [] });
  }
  return { brokers, unable };
}

/**
 * Makes a function that returns what the broker of a topic knows about partitions and groups.
 *
 * The function throws OutboxError `OUTBOX_TRANSPORT_UNKNOWN` for a transport that the configuration does not define, or
 * that has no partitions.
 */
export function brokerViewOf(transports: Config['transports']): (topic: TopicCounts) => BrokerView {
  return ({ transport: name }) => {
    const transport = transports[name];
    const offsets = transport?.offsets;
    if (transport?.partitionCount === undefined || offsets === undefined) {
      throw new OutboxError(
        'OUTBOX_TRANSPORT_UNKNOWN',
        `The transport "${name}" is not defined here, or has no partitions.`,
        { details: { transport: name } },
      );
    }
    return {
      partitionCount: async (address) => (await transport.partitionCount?.(address)) ?? 1,
      async lag(group, address) {
        const ends = await offsets.ends(address);
        const committed = await offsets.committed(group, address);
        const behind = [...ends].map(
          ([partition, end]) => BigInt(end) - BigInt(committed.get(partition) ?? 0),
        );
        return Number(behind.reduce((sum, each) => sum + each, 0n));
      },
    };
  };
}
