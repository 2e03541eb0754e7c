import type { GroupMember, PartitionAssigner } from 'kafkajs';
import { askBrokers } from '../client/ask-brokers.ts';
import type { KafkaConnection } from '../client/connection.ts';
import { kafkajs } from '../client/kafkajs.ts';

/** A member of the group and the topics that it has handlers for. */
export interface Wanting {
  readonly memberId: string;
  readonly topics: readonly string[];
}

export type Assignment = Record<string, number[]>;

/** Kafka errors of a topic that cannot be read, however often it is asked for. */
const unreadable: ReadonlySet<string> = new Set([
  'UNKNOWN_TOPIC_OR_PARTITION',
  'TOPIC_AUTHORIZATION_FAILED',
  'INVALID_TOPIC_EXCEPTION',
]);

/**
 * Gives partitions to the members that have a handler for their topic.
 *
 * The assigner of kafkajs assigns only the topics of the leader, and assigns them to every member. Where members have
 * different handlers, as in every rolling deployment, some partitions would have no reader. This one has the same name,
 * and the same result where all members have the same handlers, so both can run in one group.
 */
export function assignerOver(connection: KafkaConnection): PartitionAssigner {
  return ({ cluster }) => ({
    name: 'RoundRobinAssigner',
    version: 0,
    async assign({ members, topics }) {
      const wanting = members.map(wantingOf);
      const partitions = new Map<string, readonly number[]>();
      for (const topic of new Set(wanting.flatMap((member) => member.topics))) {
        partitions.set(
          topic,
          topics.includes(topic)
            ? cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => partitionId)
            : await partitionsOf(connection, topic),
        );
      }
      return [...assign(wanting, partitions)].map(([memberId, assignment]) => ({
        memberId,
        memberAssignment: kafkajs().AssignerProtocol.MemberAssignment.encode({
          version: 0,
          assignment,
          userData: Buffer.alloc(0),
        }),
      }));
    },
    protocol({ topics }) {
      const metadata = { version: 0, topics, userData: Buffer.alloc(0) };
      return {
        name: 'RoundRobinAssigner',
        metadata: kafkajs().AssignerProtocol.MemberMetadata.encode(metadata),
      };
    },
  });
}

/** Each partition goes to the member with the fewest among those that want it; members without any are left out. */
export function assign(
  members: readonly Wanting[],
  partitions: ReadonlyMap<string, readonly number[]>,
): ReadonlyMap<string, Assignment> {
  const sorted = members.toSorted((a, b) => (a.memberId < b.memberId ? -1 : 1));
  const given = new Map<string, number>();
  const assignments = new Map<string, Assignment>();
  for (const [topic, numbers] of partitions) {
    const wanting = sorted.filter(({ topics }) => topics.includes(topic));
    for (const number of numbers) {
      const [first, ...others] = wanting;
      if (first === undefined) continue;
      const load = ({ memberId }: Wanting): number => given.get(memberId) ?? 0;
      const { memberId } = others.reduce((least, one) => (load(one) < load(least) ? one : least), first);
      given.set(memberId, (given.get(memberId) ?? 0) + 1);
      const assignment = assignments.get(memberId) ?? {};
      assignments.set(memberId, assignment);
      (assignment[topic] ??= []).push(number);
    }
  }
  return assignments;
}

function wantingOf({ memberId, memberMetadata }: GroupMember): Wanting {
  return { memberId, topics: kafkajs().AssignerProtocol.MemberMetadata.decode(memberMetadata)?.topics ?? [] };
}

/**
 * Partitions of a topic that the leader does not handle. They are requested separately: if the topic were added to the
 * leader's own and deleted later, that would end the leader's membership. A topic that cannot be read gets no owner;
 * the members that want it fail to join on their own.
 */
async function partitionsOf(connection: KafkaConnection, topic: string): Promise<readonly number[]> {
  try {
    const { topics } = await askBrokers(connection, (admin) => admin.fetchTopicMetadata({ topics: [topic] }));
    const numbers = topics[0]?.partitions.map(({ partitionId }) => partitionId) ?? [];
    return numbers.toSorted((a, b) => a - b);
  } catch (error) {
    if (unreadable.has(String(typeof error === 'object' && error !== null && Reflect.get(error, 'type'))))
      return [];
    throw error;
  }
}
