import {
  counted,
  type Diagnosis,
  type DoctorCheck,
  fine,
  firstOf,
  problem,
  warning,
} from '../../../core/diagnosis.ts';
import type { UsedAddress } from '../../capabilities.ts';
import type { ExaminedTopic } from './examine.ts';

/** An address that a configuration uses, as Kafka has it. */
export interface KafkaTopicFacts extends UsedAddress {
  /** `undefined`: Kafka does not have it, or does not show it. */
  readonly found: ExaminedTopic | undefined;
}

/** The topics of one cluster. */
export interface KafkaFacts {
  /** `host:port`, as `--bootstrap-server` takes them. */
  readonly brokers: string;
  readonly brokerCount: number;
  /** Each address once. */
  readonly topics: readonly KafkaTopicFacts[];
  /** Whether the topic of receipts is there; `undefined`: no topic asks for receipts. */
  readonly receipts: boolean | undefined;
}

/** Size of a record with headers and frame, as a multiple of its payload. */
const headerFactor = 1.1;

/** Topics of Kafka: that they are there, complete, and safe. */
export const topicChecks: readonly DoctorCheck<KafkaFacts>[] = [
  {
    check: 'topics',
    judge({ topics }) {
      const missing = topics.filter(({ found }) => found === undefined).map(({ address }) => address);
      if (missing.length === 0)
        return fine(`Kafka has ${counted(topics.length, 'topic')} of the configuration.`);
      return problem(
        `Kafka has no topic ${firstOf(missing)} that this client may see: its messages wait.`,
        'temporal-outbox migrate --create, or kafka-topics.sh --create',
      );
    },
  },
  {
    check: 'receipts',
    judge: ({ receipts }) =>
      receipts === false
        ? problem(
            'A topic asks for receipts, but Kafka has no topic for them: relays refuse to start.',
            'temporal-outbox migrate --topics',
          )
        : undefined,
  },
  { check: 'partitions', judge: judgePartitions },
  { check: 'replicas in sync', judge: judgeInsync },
  { check: 'replication', judge: judgeReplication },
  {
    check: 'leader election',
    judge(facts) {
      const [first, ...others] = facts.topics.filter(({ found }) => found?.unclean === true);
      if (first === undefined) return undefined;
      return warning(
        `A replica that was behind may lead ${namesOf([first, ...others])}: acknowledged messages are lost then.`,
        alter(facts, first.address, 'unclean.leader.election.enable=false'),
      );
    },
  },
  {
    check: 'message size',
    judge(facts) {
      const small = facts.topics.filter(
        ({ found, payloadBytes }) =>
          found?.maxBytes !== undefined && found.maxBytes < payloadBytes * headerFactor,
      );
      const [first] = small;
      if (first === undefined) return undefined;
      return warning(
        `${namesOf(small)} take${small.length === 1 ? 's' : ''} less than its payload limit of ${first.payloadBytes} bytes with headers: a larger message fails for good.`,
        alter(facts, first.address, `max.message.bytes=${Math.ceil(first.payloadBytes * headerFactor)}`),
      );
    },
  },
];

function judgePartitions({ topics }: KafkaFacts): Diagnosis | undefined {
  const there = topics.flatMap(({ address, found, pinned, topic }) =>
    found === undefined
      ? []
      : [{ address, topic, pinned: pinned ?? found.partitions.length, now: found.partitions.length }],
  );
  const fewer = there.find(({ now, pinned }) => now < pinned);
  if (fewer !== undefined)
    return problem(
      `${fewer.address} has ${counted(fewer.now, 'partition')}, relays place keys by ${fewer.pinned}: it was created again, and part of its messages cannot be sent.`,
      `kafka-topics.sh --alter --topic ${fewer.address} --partitions ${fewer.pinned}`,
    );
  const more = there.find(({ now, pinned }) => now > pinned);
  if (more !== undefined)
    return warning(
      `${more.address} has ${counted(more.now, 'partition')}, relays use ${more.pinned} of them.`,
      `temporal-outbox partitions ${more.topic} ${more.now} --group <groups>`,
    );
  return there.length === 0 ? undefined : fine('They are those by which relays place keys.');
}

function judgeInsync(facts: KafkaFacts): Diagnosis | undefined {
  const broken = facts.topics.flatMap(({ address, found }) => {
    if (found === undefined) return [];
    const { minInsync = 1, partitions } = found;
    const bad = partitions.find(({ insync, leader }) => leader < 0 || insync < minInsync);
    return bad === undefined ? [] : [{ address, minInsync, ...bad }];
  });
  const [first] = broken;
  if (first === undefined)
    return facts.topics.some(({ found }) => found !== undefined)
      ? fine('Every partition takes messages.')
      : undefined;
  const { address, id, insync, leader, minInsync, replicas } = first;
  if (leader < 0)
    return problem(
      `Partition ${id} of ${address} has no leader: its messages wait.`,
      `kafka-topics.sh --bootstrap-server ${facts.brokers} --describe --topic ${address}, and start its brokers`,
    );
  return problem(
    `Partition ${id} of ${address} has ${counted(insync, 'replica')} in sync and needs ${minInsync}: it takes no message.`,
    minInsync > replicas
      ? alter(facts, address, `min.insync.replicas=${Math.max(1, replicas - 1)}`)
      : 'Start the brokers that are away.',
  );
}

function judgeReplication(facts: KafkaFacts): Diagnosis | undefined {
  const there = facts.topics.filter(({ found }) => found !== undefined);
  const single = there.filter(({ found }) => found?.partitions.some(({ replicas }) => replicas < 2));
  if (single[0] !== undefined)
    return warning(
      facts.brokerCount < 2
        ? 'The cluster has one broker: its disk has the only copy. That is fine for development.'
        : `${namesOf(single)} ${single.length === 1 ? 'has' : 'have'} one replica: a disk that is lost takes acknowledged messages with it.`,
      facts.brokerCount < 2
        ? 'In production: three brokers, replication.factor=3, min.insync.replicas=2'
        : `kafka-reassign-partitions.sh --bootstrap-server ${facts.brokers}, to three replicas`,
    );
  const weak = there.filter(({ found }) => found?.minInsync === 1);
  if (weak[0] !== undefined)
    return warning(
      `${namesOf(weak)} acknowledge${weak.length === 1 ? 's' : ''} with one replica in sync: its disk may have the only copy.`,
      alter(facts, weak[0].address, 'min.insync.replicas=2'),
    );
  return there.length === 0 ? undefined : fine('Acknowledged messages are on two brokers or more.');
}

function namesOf(topics: readonly KafkaTopicFacts[]): string {
  return firstOf(topics.map(({ address }) => address));
}

function alter({ brokers }: KafkaFacts, address: string, setting: string): string {
  return `kafka-configs.sh --bootstrap-server ${brokers} --alter --entity-type topics --entity-name ${address} --add-config ${setting}`;
}
