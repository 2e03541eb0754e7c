import type { Mutation } from '../mutation.ts';

const byNames = 'test/unit/operations/known-names.test.ts';
const notEmptied = 'tables-not-emptied-unnoticed';

/** What the command line says of wrong arguments. */
export const commandLineMutations: readonly Mutation[] = [
  {
    name: 'limited-caller-told-of-other-topics',
    promise: 'api-shows-nothing-without-right',
    file: 'src/api/known.ts',
    find: 'return scope.limited ? work()',
    replace: 'return scope.limited && named === undefined ? work()',
    test: byNames,
    title: 'over HTTP tells the names to a caller that sees all topics, and to no other',
  },
  {
    name: 'emptied-schema-counts-as-none',
    promise: notEmptied,
    file: 'src/store/installation/migrate.ts',
    find: "if (rows.length === 0) throw await emptied(sql, 'outbox.migration');",
    replace: '',
    test: 'test/integration/database/emptied.test.ts',
    title: 'a schema whose own rows are gone is refused by each command, which says what to do',
  },
  {
    name: 'missing-right-untold',
    promise: 'missing-right-reported',
    file: 'src/store/database/statement-failure.ts',
    find: 'return schemaMissing(error) ?? rightMissing(error);',
    replace: 'return schemaMissing(error);',
    test: 'test/integration/database/rights-missing.test.ts',
    title: 'each call in a transaction names what is missing',
  },
  {
    name: 'hidden-rows-count-as-gone',
    promise: 'row-security-named',
    file: 'src/store/installation/emptied.ts',
    find: 'if (readRow(rows, { hidden: flagCell }).hidden)',
    replace: 'if (!readRow(rows, { hidden: flagCell }))',
    test: 'test/integration/database/row-security.test.ts',
    title: 'operations, a relay and the doctor name row level security, not an empty schema',
  },
  {
    name: 'new-leaf-with-row-level-security',
    promise: 'row-security-kept-off',
    file: 'prisma/migrations/20261121000000_outbox/migration.sql',
    find: '    alter table %1$s disable row level security;\n',
    replace: '',
    test: 'test/integration/database/secured-tables.test.ts',
    title: 'no table of the outbox has row level security, also where the database gives it to every new one',
  },
  {
    name: 'topics-can-be-emptied',
    promise: notEmptied,
    file: 'prisma/migrations/20261121000000_outbox/migration.sql',
    find: 'create trigger emptied before truncate on outbox.topic',
    replace: 'create trigger emptied before insert on outbox.topic when (false)',
    test: 'test/integration/database/emptied.test.ts',
    title:
      'a test suite that empties all tables is told to leave those of the outbox, and what it sends then is delivered',
  },
  {
    name: 'relay-of-emptied-tables-is-well',
    promise: notEmptied,
    file: 'src/store/installation/emptied.ts',
    find: 'return lost === null ? undefined',
    replace: 'return lost !== null ? undefined',
    test: 'test/integration/database/emptied.test.ts',
    title: 'the health of a relay says that its tables were emptied',
  },
];
