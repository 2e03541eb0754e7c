import type { Mutation } from '../mutation.ts';

/** Correct parts, put together wrongly: what calls them, when, and with which result. */
export const wiringMutations: readonly Mutation[] = [
  {
    name: 'compose-migrates-before-kafka-listens',
    promise: 'start-waits-for-servers',
    file: 'deploy/compose.yaml',
    find: 'kafka: { condition: service_healthy }',
    replace: 'kafka: { condition: service_started }',
    test: 'test/unit/deploy/files.test.ts',
    title: 'compose migrates once',
  },
  {
    name: 'consumer-asks-once-whether-it-is-migrated',
    promise: 'start-waits-for-servers',
    file: 'src/inbox/start-consumer.ts',
    find: 'const installation = await atStart(',
    replace: 'const installation = await ask(',
    test: 'test/integration/relay/start-interrupted.test.ts',
    title: 'a consumer that loses its connection to PostgreSQL',
  },
  {
    name: 'migrate-waits-for-nobody',
    promise: 'command-waits-for-start',
    file: 'src/store/database/visit.ts',
    find: 'onceStarted(() => work(database))',
    replace: 'work(database)',
    test: 'test/integration/relay/start-interrupted.test.ts',
    title: 'a check of migrations and a preparation of topics wait some seconds for a starting PostgreSQL',
  },
];
