import type { KafkaConnection } from '../client/connection.ts';
import { unavailable } from '../client/unavailable.ts';
import type { BrokerConnection } from './broker-connection.ts';
import { Brokers } from './brokers.ts';

/** A cluster, and some of its topics. */
export interface ExaminedCluster {
  /** For people: that of the protocol between brokers, such as `3.9-IV0`, or `4 or later`; `undefined`: not known. */
  readonly version: string | undefined;
  readonly brokerCount: number;
  /** By address; those that the cluster lacks, or does not show, are missing. */
  readonly topics: ReadonlyMap<string, ExaminedTopic>;
}

/** A topic as its cluster describes it; settings are `undefined` where this client may not read them. */
export interface ExaminedTopic {
  readonly partitions: readonly {
    readonly id: number;
    /** Below 0: none. */
    readonly leader: number;
    readonly replicas: number;
    readonly insync: number;
  }[];
  /** `min.insync.replicas` */
  readonly minInsync: number | undefined;
  /** `max.message.bytes` */
  readonly maxBytes: number | undefined;
  /** `unclean.leader.election.enable` */
  readonly unclean: boolean | undefined;
}

const names = {
  minInsync: 'min.insync.replicas',
  maxBytes: 'max.message.bytes',
  unclean: 'unclean.leader.election.enable',
  version: 'inter.broker.protocol.version',
  maxBrokerBytes: 'message.max.bytes',
} as const;

/** @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE` if no broker answers */
export async function examineCluster(
  connection: KafkaConnection,
  addresses: readonly string[],
): Promise<ExaminedCluster> {
  const brokers = new Brokers(connection);
  try {
    return await examine(brokers, addresses);
  } catch (error) {
    throw unavailable(connection, error);
  } finally {
    brokers.close();
  }
}

async function examine(brokers: Brokers, addresses: readonly string[]): Promise<ExaminedCluster> {
  const any = await brokers.any();
  const cluster = await any.metadata(addresses);
  const examined = new Map<string, ExaminedTopic>();
  for (const { name, partitions } of cluster.topics) {
    // One that is missing, or not shown, has no partitions.
    if (name === null || name === undefined || partitions.length === 0) continue;
    const settings = await any
      .settings('topic', name, [names.minInsync, names.maxBytes, names.unclean])
      .catch((): Settings => new Map());
    examined.set(name, topicOf(partitions, settings));
  }
  return {
    version: await readVersion(brokers, cluster.brokers[0]),
    brokerCount: cluster.brokers.length,
    topics: examined,
  };
}

type Settings = ReadonlyMap<string, string>;
type Metadata = Awaited<ReturnType<BrokerConnection['metadata']>>;

function topicOf(partitions: Metadata['topics'][number]['partitions'], settings: Settings): ExaminedTopic {
  const unclean = settings.get(names.unclean);
  return {
    partitions: partitions.map(({ isrNodes, leaderId, partitionIndex, replicaNodes }) => ({
      id: partitionIndex,
      leader: leaderId,
      replicas: replicaNodes.length,
      insync: isrNodes.length,
    })),
    minInsync: numberIn(settings.get(names.minInsync)),
    maxBytes: numberIn(settings.get(names.maxBytes)),
    unclean: unclean === undefined ? undefined : unclean === 'true',
  };
}

function numberIn(text: string | undefined): number | undefined {
  const number = Number(text ?? '');
  return Number.isInteger(number) && number > 0 ? number : undefined;
}

/** Kafka's protocol does not disclose its version to clients, and only a broker itself has its settings. */
async function readVersion(
  brokers: Brokers,
  broker: Metadata['brokers'][number] | undefined,
): Promise<string | undefined> {
  if (broker === undefined) return undefined;
  const settings = await brokers
    .to(broker)
    .then((connection) =>
      connection.settings('broker', String(broker.nodeId), [names.version, names.maxBrokerBytes]),
    )
    .catch((): Settings => new Map());
  // Kafka 4 has no such setting any more; a client without the right sees none at all.
  return settings.get(names.version) ?? (settings.has(names.maxBrokerBytes) ? '4 or later' : undefined);
}
