import type { GroupMember, PartitionAssigner } from 'kafkajs';
import { askBrokers } from '../../kafka/ask-brokers.ts';
import type { KafkaConnection } from '../../kafka/connection.ts';
import { kafkajs } from '../../kafka/kafkajs.ts';

/** A member of the group and the topics that it has handlers for. */
export interface Wanting {
  readonly memberId: string;
  readonly topics: readonly string[];
}

export type Assignment = Record<string, number[]>;

/** What brokers answer for ever where nobody can read the topic. */
const unreadable: ReadonlySet<string> = new Set([
  'UNKNOWN_TOPIC_OR_PARTITION',
  'TOPIC_AUTHORIZATION_FAILED',
  'INVALID_TOPIC_EXCEPTION',
]);

/**
 * Gives partitions to the members that have a handler for their topic.
 *
 * The one of kafkajs gives the topics of the leader to all members, and no others to anybody: with different handlers in
 * one group, as in every rolling deployment, partitions are read by nobody then. This one has the same name and the same
 * answer where all handle the same, so both may be in one group.
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
 * Of a topic that the leader does not handle. It is asked for apart: among the leader's own topics one that is deleted
 * later would end its membership. A topic that nobody can read gets no owner, and its members fail to join by themselves.
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
