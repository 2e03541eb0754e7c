import type { Mutation } from '../mutation.ts';

const unpaused = 'withdrawal-leaves-no-pause';
const pauses = 'test/integration/operations/withdraw-pauses.test.ts';

/** The pauses of withdrawals, and the clock of bulk operations. */
export const bulkMutations: readonly Mutation[] = [
  {
    name: 'pause-of-an-operator-taken-for-its-own',
    promise: unpaused,
    file: 'src/store/lane/pause.ts',
    find: `    await sql.query('select from outbox.topic where name = $1 for update', [topic]);\n    const rows`,
    replace: '    const rows',
    test: 'test/integration/operations/withdraw.test.ts',
    title: 'a withdraw that waits for the pause of an operator does not take it for its own',
  },
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
  {
    name: 'aborted-withdrawal-not-counted',
    promise: 'actions-audited',
    file: 'src/operations/bulk.ts',
    find: '    await countLeftPage(database, known);\n',
    replace: '',
    test: 'test/integration/operations/bulk-selection.test.ts',
    title: 'what a dead relay has withdrawn is counted when ',
  },
  {
    name: 'withdrawal-aborted-in-temporal-not-counted',
    promise: 'actions-audited',
    file: 'src/store/bulk/page.ts',
    find: "state === 'aborted' && action === 'withdraw'",
    replace: "state === 'aborted' && action === 'replay'",
    test: 'test/integration/operations/bulk-selection.test.ts',
    title: 'what a dead relay has withdrawn is counted when ',
  },
];
