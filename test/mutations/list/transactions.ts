import type { Mutation } from '../mutation.ts';

const noTime = 'own-transactions-lose-no-time';
const refusedThere = 'arguments-refused-at-the-border';
const recipes = 'recipes-work';

/** Transactions that others open, and those of pools. */
export const transactionMutations: readonly Mutation[] = [
  {
    name: 'wake-sends-no-nudge',
    promise: noTime,
    file: 'src/outbox/wake.ts',
    find: "  nudge(through, runQueryOf(through, 'wake'), []);",
    replace: "  runQueryOf(through, 'wake');",
    test: 'test/integration/relay/wake.test.ts',
    title:
      'with wake a message whose sender opened the transaction is sent at once, without it at the next look',
  },
  {
    name: 'wake-in-a-transaction',
    promise: noTime,
    file: 'src/outbox/wake.ts',
    find: ` && '$connect' in through && typeof through.$connect === 'function'`,
    replace: '',
    test: 'test/integration/relay/wake.test.ts',
    title: 'wake refuses a client within a transaction, and accepts extended clients and pools',
  },
  {
    name: 'wake-in-a-transaction-of-a-pool',
    promise: refusedThere,
    file: 'src/outbox/wake.ts',
    find: ` || '$queryRawUnsafe' in through`,
    replace: '',
    test: 'test/unit/outbox/wake.test.ts',
    title: 'a transaction of a pool',
  },
  {
    name: 'any-client-is-taken',
    promise: refusedThere,
    file: 'src/store/database/client.ts',
    find: `  if (has(given, '$transaction')) return;`,
    replace: `  if (given !== '') return;`,
    test: 'test/unit/config/clients.test.ts',
    title: 'reports at once that its client is',
  },
  {
    name: 'misspelt-topic-not-reported',
    promise: 'misspelled-topic-warned-of',
    file: 'src/store/message/store-plain.ts',
    find: 'dueAt, duplicate: false, unannounced, refusal',
    replace: 'dueAt, duplicate: false, unannounced: false, refusal',
    test: 'test/integration/sending/unannounced.test.ts',
    title: 'an unannounced topic is warned of once, by every way to send, without an extra statement',
  },
  {
    name: 'withdrawal-announces-a-topic',
    promise: 'misspelled-topic-warned-of',
    file: 'src/store/lane/status.ts',
    find: ' where exists (select from outbox.topic t where t.name = l.topic)',
    replace: '',
    test: 'test/integration/operations/unannounced-topic.test.ts',
    title: 'a topic that no relay has announced is told as such',
  },
  {
    name: 'doctor-misses-unannounced-messages',
    promise: 'misspelled-topic-warned-of',
    file: 'src/operations/doctor/delivery-checks.ts',
    find: 'undelivered.filter(({ lane }) => lane === null)',
    replace: 'undelivered.filter(({ lane }) => lane !== null)',
    test: 'test/integration/doctor/undelivered.test.ts',
    title: 'doctor names a topic that no relay has announced while messages of it are due',
  },
  {
    name: 'any-topic-is-taken',
    promise: refusedThere,
    file: 'src/core/topic.ts',
    find: `  if (isTopic(given)) return;`,
    replace: `  if (given !== '') return;`,
    test: 'test/unit/outbox/wrong-inputs.test.ts',
    title: 'refuses anything but a topic, and says so',
  },
  {
    name: 'any-topic-is-handled',
    promise: refusedThere,
    file: 'src/inbox/consumer.ts',
    find: `.some(({ name }) => name === topic.name)`,
    replace: `.some(() => true)`,
    test: 'test/unit/outbox/wrong-inputs.test.ts',
    title: 'a handler of a topic outside the configuration is refused with that reason',
  },
  {
    name: 'query-outside-of-a-transaction-taken',
    promise: recipes,
    file: 'src/store/database/transaction.ts',
    find: 'isAsked ? requireOpen(tx)',
    replace: 'isAsked ? Promise.resolve()',
    test: 'test/integration/cli/recipes.test.ts',
    title: 'every call refuses a client of the recipe for',
  },
];
