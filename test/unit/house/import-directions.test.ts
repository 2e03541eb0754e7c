import { beforeAll, expect, test } from 'vitest';
import { layers } from '../../../tools/lint/layers.mjs';
import { type Finding, lintAsProject } from './lint-fixtures.ts';

interface Case {
  /** The importing folder, or an entry file of src. */
  readonly from: string;
  readonly code: string;
  /** A part of the reason that the linter must give; absent: it must say nothing. */
  readonly reason?: string;
}

/** An import by value. */
const value = (path: string) => `import { name } from '${path}';\nexport const used = name;\n`;
/** An import of a type. */
const type = (path: string) => `import type { Name } from '${path}';\nexport type Used = Name;\n`;

const refuse = (from: string, code: string, reason: string): Case => ({ from, code, reason });
const allow = (from: string, ...codes: readonly string[]): readonly Case[] =>
  codes.map((code) => ({ from, code }));

const environment = 'Only src/config reads the environment';
const deterministic = 'Workflows are deterministic';
const kafkajs = 'kafkajs stays in';
const onlyStore = 'Only src/store speaks to PostgreSQL';
const onlyTemporal = 'know Temporal';

const cases: readonly Case[] = [
  refuse('src/core', value('../store/lane/claim.ts'), 'imports nothing of the project'),
  refuse('src/core', type('../store/lane/claim.ts'), 'imports nothing of the project'),
  refuse('src/core', value('node:fs/promises'), 'holds pure rules'),
  ...allow('src/core', value('./errors.ts'), value('ms'), value('node:crypto')),

  refuse('src/store', value('../outbox/send.ts'), 'src/store may import src/core only'),
  refuse(
    'src/store',
    `export const lazy = import('../outbox/send.ts');\n`,
    'src/store may import src/core only',
  ),
  refuse('src/store', `export * from '../outbox/send.ts';\n`, 'src/store may import src/core only'),
  refuse('src/store/inbox', value('../../inbox/once.ts'), 'src/store may import src/core only'),
  refuse('src/store', value('@prisma/client'), 'knows a transaction by its shape'),
  ...allow('src/store', value('../core/errors.ts'), value('./inbox/processed.ts'), value('pg')),
  ...allow('src/store/inbox', value('../database/pool.ts'), value('../../core/errors.ts'), value('pg')),

  refuse(
    'src/outbox',
    value('../relay/starter.ts'),
    'src/outbox may import src/store, src/tracing and src/core only',
  ),
  refuse('src/outbox', value('pg'), onlyStore),
  ...allow('src/outbox', value('../store/message/write.ts'), value('../core/topic.ts')),

  refuse('src/tracing', value('../store/message/write.ts'), 'src/tracing may import src/core only'),
  refuse('src/outbox', value('@opentelemetry/api'), 'Only src/tracing knows OpenTelemetry'),
  ...allow('src/tracing', type('@opentelemetry/api'), value('../core/headers.ts')),

  refuse('src/bulk', value('../relay/starter.ts'), 'src/bulk may import src/store and src/core only'),
  ...allow('src/bulk', value('../store/bulk/page.ts'), value('../core/crash-point.ts')),

  refuse('src/relay', value('../temporal/client.ts'), 'src/relay may import'),
  refuse('src/relay', value('../transports/transport.ts'), 'the types of src/transports/transport.ts'),
  refuse('src/relay', type('../transports/kafka/session.ts'), 'the types of src/transports/transport.ts'),
  refuse('src/relay', type('@temporalio/client'), onlyTemporal),
  refuse('src/relay', value('kafkajs'), kafkajs),
  ...allow(
    'src/relay',
    type('../transports/transport.ts'),
    value('../store/lane/claim.ts'),
    value('../bulk/bulk-runner.ts'),
    value('../core/lane.ts'),
  ),

  refuse('src/kafka', value('../store/lane/claim.ts'), 'src/kafka may import src/core'),
  refuse('src/kafka', value('../sources/source.ts'), 'src/kafka may import src/core'),
  ...allow('src/kafka', value('kafkajs'), type('../sources/source.ts'), value('../core/errors.ts')),

  refuse('src/transports', value('../relay/drain.ts'), 'src/transports may import src/core,'),
  refuse('src/transports/kafka', value('../../store/lane/claim.ts'), 'src/transports may import src/core,'),
  refuse('src/transports/print', value('../../kafka/connection.ts'), 'src/transports may import src/core,'),
  refuse('src/transports/print', value('kafkajs'), kafkajs),
  refuse('src/transports/kafka', value('@temporalio/client'), onlyTemporal),
  ...allow('src/transports', value('../core/errors.ts'), value('./kafka/session.ts')),
  ...allow('src/transports/kafka', value('kafkajs'), value('../transport.ts'), value('../../core/errors.ts')),
  ...allow('src/transports/kafka', value('../../kafka/connection.ts')),
  ...allow('src/transports/workflow', value('@temporalio/client'), value('../../temporal/connection.ts')),
  refuse('src/transports/workflow', value('../../temporal/relay/engine.ts'), 'how src/temporal connects'),
  refuse('src/transports/http', value('../../temporal/connection.ts'), 'how src/temporal connects'),

  refuse('src/http', value('../transports/transport.ts'), 'src/http may import src/core only'),
  refuse('src/transports/print', value('undici'), 'undici stays in src/transports/http'),
  refuse('src/transports/http', value('standardwebhooks'), 'standardwebhooks stays in src/http'),
  refuse('src/inbox/intake', value('../../http/signatures.ts'), 'src/inbox/http also src/http'),
  ...allow('src/http', type('standardwebhooks'), value('../core/errors.ts')),
  ...allow('src/transports/http', type('undici'), value('../../http/signatures.ts')),
  ...allow('src/inbox/http', value('../../http/signatures.ts'), value('../once.ts')),

  refuse('src/redis', value('../store/lane/claim.ts'), 'src/redis may import src/core only'),
  refuse('src/kafka', value('@redis/client'), 'The client of Redis stays in folders named redis'),
  ...allow('src/redis', value('@redis/client'), value('../core/errors.ts')),
  ...allow(
    'src/transports/redis',
    value('../../redis/redis-link.ts'),
    value('../../sources/redis/read-size.ts'),
  ),
  ...allow('src/sources/redis', value('../../redis/redis-link.ts'), value('@redis/client')),
  ...allow('src/filters/redis', value('../../redis/redis-link.ts')),

  refuse('src/sources', value('../inbox/once.ts'), 'src/sources may import src/core,'),
  refuse('src/sources/kafka', value('../../inbox/once.ts'), 'src/sources may import src/core,'),
  refuse('src/sources/redis', value('../../kafka/connection.ts'), 'src/sources may import src/core,'),
  refuse('src/rabbitmq', value('../config/config.ts'), 'src/rabbitmq may import src/core only'),
  refuse('src/sources/kafka', value('amqplib'), 'amqplib stays in'),
  refuse('src/transports/kafka', value('../../rabbitmq/link.ts'), 'src/transports may import src/core,'),
  ...allow('src/rabbitmq', value('amqplib'), value('../core/errors.ts')),
  ...allow('src/transports/rabbitmq', value('amqplib'), value('../../rabbitmq/link.ts')),
  ...allow('src/sources/rabbitmq', value('amqplib'), value('../../rabbitmq/link.ts')),
  refuse('src/rocketmq', value('../config/config.ts'), 'src/rocketmq may import src/core only'),
  refuse('src/sources/kafka', value('rocketmq-client-nodejs'), 'The client of RocketMQ'),
  refuse('src/transports/kafka', value('@grpc/grpc-js'), 'The client of RocketMQ'),
  refuse('src/transports/kafka', value('../../rocketmq/route.ts'), 'src/transports may import src/core,'),
  ...allow('src/rocketmq', type('@grpc/grpc-js'), value('../core/errors.ts')),
  ...allow('src/transports/rocketmq', value('../../rocketmq/route.ts')),
  ...allow('src/sources/rocketmq', value('../../rocketmq/route.ts'), type('@grpc/grpc-js')),
  refuse('src/sources/redis', value('kafkajs'), kafkajs),
  ...allow('src/sources/kafka', value('../../kafka/connection.ts')),
  ...allow('src/sources/kafka', value('kafkajs'), type('../source.ts'), value('../../core/errors.ts')),

  refuse('src/inbox', value('../relay/drain.ts'), 'src/inbox may import'),
  refuse('src/inbox', value('../sources/source.ts'), 'the types of src/sources/source.ts'),
  refuse('src/inbox', value('kafkajs'), kafkajs),
  refuse('src/inbox/intake', value('../../relay/drain.ts'), 'src/inbox may import'),
  ...allow('src/inbox/intake', type('../../sources/source.ts'), value('../parked/kept.ts')),
  ...allow('src/inbox', type('../sources/source.ts'), value('../sources/incoming-message.ts')),
  ...allow('src/inbox', value('../bulk/bulk-runner.ts')),
  ...allow('src/inbox', value('../store/database/pool.ts'), value('../core/errors.ts')),

  refuse(
    'src/operations',
    value('../relay/starter.ts'),
    'src/operations may import src/store and src/core only',
  ),
  ...allow('src/operations', value('../store/message/release.ts'), value('../core/errors.ts')),

  refuse('src/filters/redis', value('../../inbox/once.ts'), 'src/filters may import src/core,'),
  refuse('src/inbox', value('@redis/client'), 'The client of Redis stays in folders named redis'),
  ...allow(
    'src/filters/redis',
    value('@redis/client'),
    type('../../inbox/window/seen-filter.ts'),
    value('../../core/errors.ts'),
  ),

  refuse('src/temporal', value('../store/lane/claim.ts'), 'src/temporal may import activities'),
  refuse('src/temporal', value('../config/config.ts'), 'src/temporal may import activities'),
  refuse(
    'src/temporal',
    value('../../workflows/deliver-lane.ts'),
    'types of src/bulk, src/config and workflows',
  ),
  ...allow('src/temporal', type('../config/config.ts'), type('../../workflows/deliver-lane.ts')),
  refuse('src/temporal/relay', value('../../store/lane/claim.ts'), 'src/temporal may import activities'),
  ...allow('src/temporal/relay', value('../../../activities/lane.ts'), value('../../relay/port.ts')),
  ...allow(
    'src/temporal',
    value('../../activities/lane.ts'),
    value('../relay/port.ts'),
    value('@temporalio/worker'),
  ),

  refuse('src/config', value('../cli/main.ts'), 'src/config composes the parts'),
  refuse('src/config', value('../testing/memory-transport.ts'), 'src/config composes the parts'),
  ...allow(
    'src/config',
    value('../temporal/worker.ts'),
    value('../store/database/pool.ts'),
    value('../relay/relay.ts'),
  ),
  ...allow('src/config', 'export const url = process.env.DATABASE_URL;\n'),

  refuse(
    'src/local',
    value('../config/config.ts'),
    'src/local may import src/core and src/kafka/idle-timers.ts',
  ),
  refuse(
    'src/local',
    value('../kafka/topics.ts'),
    'src/local may import src/core and src/kafka/idle-timers.ts',
  ),
  ...allow('src/local', value('kafkajs'), value('@temporalio/client'), value('../kafka/idle-timers.ts')),
  ...allow('src/local', value('../core/errors.ts'), value('pg'), 'export const path = process.env.PATH;\n'),

  refuse('src/init', value('../config/config.ts'), 'src/init may import src/core only'),
  refuse('src/init', 'export const url = process.env.DATABASE_URL;\n', environment),
  ...allow('src/init', value('../core/errors.ts'), value('node:fs/promises')),

  refuse('src/cli', value('../store/lane/claim.ts'), 'src/cli may import'),
  refuse('src/cli', value('../testing/crash-at.ts'), 'src/cli may import'),
  ...allow(
    'src/cli',
    value('../operations/operations.ts'),
    value('../local/servers.ts'),
    value('../config/load.ts'),
  ),

  refuse('src/demo', value('../store/lane/claim.ts'), 'src/demo is a user of the library'),
  refuse('src/demo', value('../outbox/send.ts'), 'src/demo is a user of the library'),
  ...allow('src/demo', value('../kafka/idle-timers.ts')),
  ...allow('src/demo', value('../index.ts'), value('../consumer.ts'), value('@prisma/adapter-pg')),

  refuse('src/testing', value('../relay/relay.ts'), 'src/testing may import'),
  ...allow('src/testing', value('../transports/transport.ts'), value('../outbox/send.ts')),

  refuse('src/nestjs', value('../inbox/consumer.ts'), 'src/nestjs may import'),
  ...allow('src/nestjs', value('../config/consumer.ts'), value('../core/reason.ts')),

  refuse('src/index.ts', value('./cli/main.ts'), 'not its faces'),
  refuse('src/relay.ts', value('./testing/crash-at.ts'), 'src/testing is for tests'),
  refuse('src/consumer.ts', value('ms'), 're-exports names of src'),
  refuse('src/operations.ts', value('../workflows/index.ts'), 're-exports names of src'),
  ...allow('src/transports.ts', `export { kafka } from './transports/kafka/kafka.ts';\n`),
  ...allow('src/testing.ts', `export { crashAt } from './testing/crash-at.ts';\n`),

  refuse('activities', value('../src/config/config.ts'), 'Activities may import'),
  refuse('activities', value('../workflows/deliver-lane.ts'), 'Activities may import'),
  refuse('activities', value('pg'), onlyStore),
  refuse('activities', 'export const zone = process.env.TZ;\n', environment),
  ...allow('activities', value('../src/relay/drain.ts'), value('../src/store/message/release.ts')),
  ...allow('activities', value('@temporalio/activity'), type('../src/transports/transport.ts')),

  refuse('workflows', value('node:fs'), deterministic),
  refuse('workflows', value('@temporalio/client'), deterministic),
  refuse('workflows', value('../activities/lane.ts'), deterministic),
  refuse('workflows', value('../src/core/duration.ts'), deterministic),
  refuse('workflows', 'export const zone = process.env.TZ;\n', deterministic),
  refuse('workflows', 'export const zone = globalThis.process;\n', deterministic),
  refuse('workflows', 'export const now = () => Date.now();\n', 'the database clock'),
  ...allow('workflows', value('@temporalio/workflow'), value('./deliver-lane.ts')),
  ...allow('workflows', type('../activities/lane.ts'), type('../src/core/duration.ts')),

  refuse('src/relay', 'export const zone = process.env.TZ;\n', environment),
  refuse('src/relay', 'export const zone = globalThis.process;\n', environment),
  refuse('src/relay', `import { env } from 'node:process';\nexport const zone = env.TZ;\n`, environment),
  refuse('src/testing', 'export const zone = process.env.TZ;\n', environment),
  refuse('src/transports/print', 'export const zone = process.env.TZ;\n', environment),
  ...allow('src/testing', `export const end = () => process.kill(process.pid, 'SIGKILL');\n`),
  ...allow('src/transports/print', `export const print = () => process.stdout.write('x');\n`),
  refuse('src/relay', value('temporal-outbox/consumer'), 'resolves to the last build'),
  refuse('src/relay', value('../store/../config/config.ts'), 'Write the shortest path'),
  refuse('src/relay', `export const log = () => console.log('x');\n`, 'Unexpected console'),
];

/** A file per case, so that a finding names its case. */
const files = cases.map(({ from }, index) => (from.endsWith('.ts') ? from : `${from}/case-${index}.ts`));
const findings: Finding[] = [];

beforeAll(async () => {
  findings.push(
    ...(await lintAsProject(new Map(cases.map(({ code }, index) => [files[index] ?? '', code])))),
  );
});

const titled = cases.map((each, index) => ({
  ...each,
  file: files[index] ?? '',
  expected: each.reason === undefined ? [] : [expect.stringContaining(each.reason)],
  title: `${each.from}: ${each.code.split('\n')[0]} ${each.reason === undefined ? 'passes' : `fails: ${each.reason}`}`,
}));

test.each(titled)('$title', ({ file, expected }) => {
  const told = findings.filter(
    (finding) => finding.file === file && /no-restricted|no-console/.test(finding.rule),
  );

  expect(told.map(({ text }) => text)).toEqual(expected);
});

test('every layer has a refused and an allowed import above', () => {
  for (const { folder } of layers) {
    const own = cases.filter(({ from }) => from === folder || from.startsWith(`${folder}/`));
    expect(
      own.map(({ reason }) => reason === undefined),
      folder,
    ).toEqual(expect.arrayContaining([true, false]));
  }
});

test('no two cases share a file', () => {
  expect(new Set(files).size).toBe(cases.length);
});
