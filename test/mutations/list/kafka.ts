import type { Mutation } from '../mutation.ts';

/** What brokers answer, and what their topics and groups are like. */
export const kafkaMutations: readonly Mutation[] = [
  {
    name: 'large-batches-one-partition-at-a-time',
    promise: 'one-bad-slows-no-other',
    file: 'src/brokers/kafka/source/group-session.ts',
    find: 'Math.min(await largestBatchBytes(this.#connection, addresses), maxFetchBytes)',
    replace: 'Math.min(512 * 1024, maxFetchBytes)',
    test: 'test/transports/kafka/fetching.test.ts',
  },
];
