import type { Mutation } from '../mutation.ts';

const byNames = 'test/unit/operations/known-names.test.ts';
const byWords = 'test/unit/cli/wrong-words.test.ts';
const byTimes = 'test/unit/core/written-time.test.ts';
const refused = 'Invalid arguments are refused where they are passed';
const notEmptied = 'The tables of the outbox cannot be emptied unnoticed';

/** What the command line says of wrong arguments. */
export const commandLineMutations: readonly Mutation[] = [
  {
    name: 'refusal-names-what-was-refused',
    promise: refused,
    file: 'src/operations/what-remains.ts',
    find: "if (action === 'cancel' || action === 'withdraw') {",
    replace: "if (action === 'withdraw') {",
    test: 'test/unit/cli/refusals-in-words.test.ts',
    title: 'message that cannot be canceled is not said to be ended by cancel',
  },
  {
    name: 'unknown-topic-without-the-known-ones',
    promise: refused,
    file: 'src/operations/known-names.ts',
    find: 'throw (await unknownNames(at, scope)) ?? error;',
    replace: "throw scope.topic === '' ? ((await unknownNames(at, scope)) ?? error) : error;",
    test: byNames,
  },
  {
    name: 'limited-caller-told-of-other-topics',
    promise: 'The HTTP API shows and does nothing without a right',
    file: 'src/api/known.ts',
    find: 'return scope.limited ? work()',
    replace: 'return scope.limited && named === undefined ? work()',
    test: byNames,
    title: 'over HTTP tells the names to a caller that sees all topics, and to no other',
  },
  {
    name: 'whole-help-after-a-wrong-word',
    promise: refused,
    file: 'src/cli/run-program.ts',
    find: '  pointToHelp(root);',
    replace: '  root.showHelpAfterError();',
    test: byWords,
    title: 'a word too many or missing is told with the help of its command',
  },
  {
    name: 'misspelt-command-is-an-argument',
    promise: refused,
    file: 'src/cli/wrong-words.ts',
    find: 'if (command.commands.length > 0) refuse',
    replace: 'if (command.commands.length > 99) refuse',
    test: byWords,
    title: 'is no command: the nearest one and the help are named',
  },
  {
    name: 'flag-named-as-another-one',
    promise: refused,
    file: 'src/cli/said-flags.ts',
    find: "'the filter': { reason: 'failedWith', states: 'state' },",
    replace: "'the filter': { states: 'state' },",
    test: 'test/unit/cli/said-flags.test.ts',
    title: 'the error for a value names the flag that was typed',
  },
  {
    name: 'time-without-seconds-refused',
    promise: refused,
    file: 'src/core/written-time.ts',
    find: '(?::\\d{2}(?:\\.\\d{1,9})?)?(?<zone>',
    replace: '(?::\\d{2}(?:\\.\\d{1,9})?)(?<zone>',
    test: byTimes,
    title: 'is the same time on the command line and over HTTP',
  },
  {
    name: 'api-reads-times-in-its-own-zone',
    promise: refused,
    file: 'src/api/schemas/values.ts',
    find: 'if (time?.zoned === true) return time.at;',
    replace: 'if (time !== undefined) return time.at;',
    test: byTimes,
    title: 'a time without a zone is of this machine where it is typed, and refused over HTTP',
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
    promise: 'A missing right to the outbox is reported as such',
    file: 'src/store/database/statement-failure.ts',
    find: 'return schemaMissing(error) ?? rightMissing(error);',
    replace: 'return schemaMissing(error);',
    test: 'test/integration/database/rights-missing.test.ts',
    title: 'each call in a transaction names what is missing',
  },
  {
    name: 'hidden-rows-count-as-gone',
    promise: 'Row level security on tables of the outbox is named',
    file: 'src/store/installation/emptied.ts',
    find: 'if (readRow(rows, { hidden: flagCell }).hidden)',
    replace: 'if (!readRow(rows, { hidden: flagCell }))',
    test: 'test/integration/database/row-security.test.ts',
    title: 'operations, a relay and the doctor name row level security, not an empty schema',
  },
  {
    name: 'new-leaf-with-row-level-security',
    promise: 'The outbox keeps row level security off its tables',
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
];
