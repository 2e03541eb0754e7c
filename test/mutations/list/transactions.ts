import type { Mutation } from '../mutation.ts';

const noTime = 'Who opens transactions without `transaction` loses no time by it';
const byPool = 'A consumer by a pool keeps what one by Prisma keeps';
const recipes = 'The recipes of [transactions.md](transactions.md) work as they stand there';
const client = 'test/integration/pool-client.test.ts';

/** Transactions that others open, and those of pools. */
export const transactionMutations: readonly Mutation[] = [
  {
    name: 'wake-says-nothing',
    promise: noTime,
    file: 'src/outbox/wake.ts',
    find: '  nudge(through, runQueryOf(through), []);',
    replace: '  runQueryOf(through);',
    test: 'test/integration/wake.test.ts',
    title: 'a message whose transaction its sender opened leaves at once with wake',
  },
  {
    name: 'wake-in-a-transaction',
    promise: noTime,
    file: 'src/outbox/wake.ts',
    find: ` && '$connect' in through && typeof through.$connect === 'function'`,
    replace: '',
    test: 'test/integration/wake.test.ts',
    title: 'wake refuses what belongs to a transaction',
  },
  {
    name: 'pool-transaction-without-end',
    promise: byPool,
    file: 'src/store/database/pool-transaction.ts',
    find: '      void this.rollBack();\n',
    replace: '',
    test: client,
    title: 'a transaction whose time is over is rolled back',
  },
  {
    name: 'pool-transaction-open-after-its-end',
    promise: byPool,
    file: 'src/store/database/pool-transaction.ts',
    find: '    if (this.#ended !== undefined) return Promise.reject(this.#ended);\n',
    replace: '',
    test: client,
    title: 'after its end a transaction takes no statement',
  },
  {
    name: 'pool-commit-before-what-is-under-way',
    promise: byPool,
    file: 'src/store/database/pool-transaction.ts',
    find: '    this.#end();\n    try {\n',
    replace: '    try {\n',
    test: client,
    title: 'after its end a transaction takes no statement',
  },
  {
    name: 'pool-rollback-taken-for-commit',
    promise: byPool,
    file: 'src/store/database/pool-transaction.ts',
    find: `      if (command === 'ROLLBACK') throw failedBefore();\n`,
    replace: '',
    test: client,
    title: 'where an error of a statement was caught, nothing is committed',
  },
  {
    name: 'pool-connection-kept-after-its-end',
    promise: byPool,
    file: 'src/store/database/lent-connection.ts',
    find: '    this.connection.release(this.#lost);',
    replace: '    this.connection.release();',
    test: client,
    title: 'a commit that is not answered is told as unknown',
  },
  {
    name: 'pool-errors-unheard',
    promise: byPool,
    file: 'src/store/database/pool-client.ts',
    find: '  outlive(pool);\n',
    replace: '',
    test: client,
    title: 'a connection that the server ends',
  },
  {
    name: 'pool-fault-charged',
    promise: byPool,
    file: 'src/store/database/connection-lost.ts',
    find: `readonly code = '08006'`,
    replace: `readonly code = 'XX000'`,
    test: client,
    title: 'a connection that the server ends',
  },
  {
    name: 'pool-level-of-the-database',
    promise: byPool,
    file: 'src/store/database/pool-transaction.ts',
    find: `  if (level === undefined) return 'begin';`,
    replace: `  return 'begin';`,
    test: 'test/integration/inbox-pool.test.ts',
    title: 'by a pool, a transaction has the level and the limits that Prisma has',
  },
  {
    name: 'query-outside-of-a-transaction-taken',
    promise: recipes,
    file: 'src/store/database/transaction.ts',
    find: '      await (open ??= requireOpen(tx));\n',
    replace: '      await (open ??= Promise.resolve(tx));\n',
    test: 'test/integration/recipes.test.ts',
    title: 'is refused outside of a transaction by every call',
  },
];
