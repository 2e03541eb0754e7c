import type { Mutation } from '../mutation.ts';

const provesNothing = 'An answer that proves nothing counts as maybe stored';
const sharedGroup = 'Consumers with different handlers may share a group';
const missing = 'A missing topic is named at once';
const failures = 'test/unit/transports/kafka-failure.test.ts';

/** What brokers answer, and what their topics and groups are like. */
export const kafkaMutations: readonly Mutation[] = [
  {
    name: 'lost-leader-counts-as-unsent',
    promise: provesNothing,
    file: 'src/transports/kafka/failure.ts',
    find: 'NOT_LEADER_FOR_PARTITION: maybeInTopic',
    replace: 'NOT_LEADER_FOR_PARTITION: refusedTopic',
    test: failures,
    title: 'after a request was written, the answer',
  },
  {
    name: 'unlisted-answer-counts-as-unsent',
    promise: provesNothing,
    file: 'src/transports/kafka/failure.ts',
    find: `const unlisted: Answer = { kind: 'split', single: 'ambiguous' };`,
    replace: `const unlisted: Answer = { kind: 'split', single: 'rejected' };`,
    test: failures,
    title: 'an answer that kafkajs does not know blames a message',
  },
  {
    name: 'refused-time-blames-the-message',
    promise: 'A relay whose clock is wrong burns no attempt',
    file: 'src/transports/kafka/failure.ts',
    find: '  INVALID_TIMESTAMP: refusedTopic,\n',
    replace: '',
    test: 'test/integration/kafka-answers.test.ts',
    title: 'a clock that is two hours ahead burns no attempt',
  },
  {
    name: 'doubtful-partition-never-rests',
    promise: 'Duplicates are bounded (I11)',
    file: 'src/transports/kafka/doubts.ts',
    find: 'const free = 3;',
    replace: 'const free = 3_000;',
    test: 'test/unit/transports/kafka-doubts.test.ts',
    title: 'answers in doubt let their partition rest for longer each time',
  },
  {
    name: 'partition-given-to-who-has-no-handler',
    promise: sharedGroup,
    file: 'src/sources/kafka/assigner.ts',
    find: 'sorted.filter(({ topics }) => topics.includes(topic))',
    replace: 'sorted.filter(({ topics }) => topics.length > 0)',
    test: 'test/unit/sources/kafka-assigner.test.ts',
    title: 'a partition goes to nobody but a member that handles its topic',
  },
  {
    name: 'assigner-of-kafkajs',
    promise: sharedGroup,
    file: 'src/sources/kafka/membership.ts',
    find: '    partitionAssigners: [assignerOver(connection)],\n',
    replace: '',
    test: 'test/integration/kafka-mixed-group.test.ts',
    title: 'consumers with different handlers share one group',
  },
  {
    name: 'missing-topic-left-to-kafkajs',
    promise: missing,
    file: 'src/sources/kafka/group-session.ts',
    find: 'if (!this.#everJoined) return error;',
    replace: 'if (!this.#everJoined) return addresses;',
    test: 'test/integration/kafka-source-deleted-topic.test.ts',
    title: 'a topic that is missing at the start is told at once by its name',
  },
  {
    name: 'deleted-messages-passed-in-silence',
    promise: missing,
    file: 'src/sources/kafka/losses.ts',
    find: 'this.#reset.add(nameOf(topic, partition));',
    replace: 'nameOf(topic, partition);',
    test: 'test/integration/kafka-source-retention.test.ts',
    title: 'a group that began with what arrived, and falls behind what is kept',
  },
  {
    name: 'codecs-never-given',
    promise: 'Every codec of Kafka is read',
    file: 'src/kafka/codecs.ts',
    find: 'if (isGiven(CompressionCodecs[type])) continue;',
    replace: `if (isGiven(CompressionCodecs[type]) || name !== '') continue;`,
    test: 'test/unit/sources/kafka-codecs.test.ts',
    title: 'a codec that the application has given to kafkajs stays, and the others are added',
  },
  {
    name: 'lz4-never-given',
    promise: 'Every codec of Kafka is read',
    file: 'src/kafka/codecs.ts',
    find: 'if (isGiven(CompressionCodecs[type])) continue;',
    replace: `if (isGiven(CompressionCodecs[type]) || name === 'LZ4') continue;`,
    test: 'test/integration/kafka-codecs.test.ts',
  },
];
