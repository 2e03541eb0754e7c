import type { Mutation } from '../mutation.ts';

const schemaNamed = 'missing-outbox-reported';

/** A message is stored, canceled or changed by its sender, or edited and withdrawn by an operator. */
export const writingMutations: readonly Mutation[] = [
  {
    name: 'missing-schema-unnamed',
    promise: schemaNamed,
    file: 'src/store/database/transaction.ts',
    find: '      throw statementFailure(error) ?? error;',
    replace: '      throw error;',
    test: 'test/integration/database/schema-missing.test.ts',
    title: 'every call over',
  },
  {
    name: 'table-of-user-named-as-missing-schema',
    promise: schemaNamed,
    file: 'src/store/database/schema-missing.ts',
    find: `'42P01': /(?<![\\w$.])outbox\\.\\w+/,`,
    replace: `'42P01': /.+/,`,
    test: 'test/integration/database/schema-missing.test.ts',
    title: 'the error of an own trigger on a table of the outbox is unchanged',
  },
];
