import type { Mutation } from '../mutation.ts';

const unpaused = 'A withdrawal leaves no topic paused';
const pauses = 'test/integration/operations/withdraw-pauses.test.ts';

/** The pauses of withdrawals. */
export const bulkMutations: readonly Mutation[] = [
  {
    name: 'unanswered-pause-forgotten',
    promise: unpaused,
    file: 'src/operations/withdraw.ts',
    find: '    this.#pauses.set(topic, undefined);\n',
    replace: '',
    test: pauses,
    title: 'committed but not answered',
  },
  {
    name: 'any-pause-taken-for-an-own-one',
    promise: unpaused,
    file: 'src/store/lane/pause.ts',
    find: 'and details @> $2::text::jsonb',
    replace: 'and $2::text is not null',
    test: pauses,
    title: 'a pause of somebody else',
  },
  {
    name: 'one-failed-resume-ends-all',
    promise: unpaused,
    file: 'src/store/lane/pause.ts',
    find: '.catch((error: unknown) => failures.push(error))',
    replace: '',
    test: pauses,
    title: 'a topic that cannot be resumed',
  },
  {
    name: 'resting-withdrawal-keeps-its-pauses',
    promise: unpaused,
    file: 'src/relay/bulk.ts',
    find: "if (answer.kind !== 'more')",
    replace: "if (answer.kind === 'ended')",
    test: pauses,
    title: 'a topic that a dead relay left paused',
  },
];
