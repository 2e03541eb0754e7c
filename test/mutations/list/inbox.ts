import type { Mutation } from '../mutation.ts';

const filled = 'batch-fills-or-ends';

/** A message arrives and is handled. */
export const inboxMutations: readonly Mutation[] = [
  {
    name: 'batch-never-waits',
    promise: filled,
    file: 'src/inbox/intake/message-intake.ts',
    find: 'size && waitMs ? new',
    replace: 'size && waitMs && waitMs < 0 ? new',
    test: 'test/integration/inbox/batch-wait.test.ts',
    title: 'messages that trickle in',
  },
  {
    name: 'batch-waits-again-after-a-failure',
    promise: filled,
    file: 'src/inbox/intake/gathering.ts',
    find: 'const again = gone === undefined ? 0 : ids',
    replace: 'const again = gone !== undefined ? 0 : ids',
    test: 'test/unit/inbox/gathering.test.ts',
    title: 'what was let go and is offered again',
  },
  {
    name: 'batch-never-comes-together',
    promise: filled,
    file: 'src/inbox/intake/gathering.ts',
    find: 'full === 0 && waiting',
    replace: 'full < 0 && waiting',
    test: 'test/unit/inbox/gathering-unordered.test.ts',
    title: 'two messages that came one after the other',
  },
  {
    name: 'batch-waits-for-what-kafka-cuts',
    promise: filled,
    file: 'src/brokers/kafka/client/fetch-response.ts',
    find: '+ 1n < BigInt(header.lastStableOffset)',
    replace: '+ 1n < 0n',
    test: 'test/unit/brokers/kafka/answer-ends.test.ts',
    title: 'a batch says that it was cut',
  },
  {
    name: 'batch-skips-what-waits',
    promise: filled,
    file: 'src/inbox/intake/steps.ts',
    find: 'batch.reject(incoming, againMs);',
    replace: 'batch.acknowledge(incoming);',
    test: 'test/unit/inbox/intake-batches.test.ts',
    title: 'messages that wait for a batch to fill',
  },
];
