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

/** A timer of any time, as a global, as a property of one, and as an import. */
const timers = [
  `export const wake = (then: () => void, ms: number) => setTimeout(then, ms);\n`,
  `export const wake = (then: () => void, ms: number) => globalThis.setTimeout(then, ms);\n`,
  `import { setTimeout as delay } from 'node:timers/promises';\nexport const wait = delay;\n`,
];
const parse = `export const read = (text: string): unknown => JSON.parse(text);\n`;
const lax = `export const at = Date.parse('60');\n`;
const refuse = (from: string, code: string, reason: string): Case => ({ from, code, reason });
const allow = (from: string, ...codes: readonly string[]): readonly Case[] =>
  codes.map((code) => ({ from, code }));

const environment = 'Only src/config reads the environment';
const deterministic = 'Workflows are deterministic';
const kafkajs = 'kafkajs stays in';
const onlyStore = 'Only src/store speaks to PostgreSQL';
const onlyTemporal = 'know Temporal';
const oneBroker = 'A folder of src/brokers may import';

/** Those with a package, one without, and an unknown one. */
const brokers = ['http', 'kafka', 'print', 'rabbitmq', 'redis', 'rocketmq', 'spool', 'workflow'].map(
  (name) => `src/brokers/${name}`,
);
/** The packages that one broker brings: the package, its broker, and why it stays there. */
const clients = [
  ['kafkajs', 'kafka', kafkajs],
  ['@platformatic/kafka', 'kafka', '@platformatic/kafka stays in'],
  ['amqplib', 'rabbitmq', 'amqplib stays in'],
  ['@redis/client', 'redis', 'The client of Redis stays in'],
  ['rocketmq-client-nodejs', 'rocketmq', 'The client of RocketMQ'],
  ['@grpc/grpc-js', 'rocketmq', 'The client of RocketMQ'],
  ['undici', 'http', 'undici stays in src/brokers/http'],
  ['standardwebhooks', 'http', 'standardwebhooks stays in src/brokers/http'],
  ['@temporalio/client', 'workflow', onlyTemporal],
] as const;

const cases: readonly Case[] = [
  refuse('src/core', value('../store/lane/claim.ts'), 'imports nothing of the project'),
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

  refuse('src/outbox', value('../relay/starter.ts'), 'src/outbox may import src/store'),
  refuse('src/outbox', value('pg'), onlyStore),
  ...allow('src/outbox', value('../store/message/write.ts'), value('../core/topic.ts')),

  refuse('src/telemetry', value('../store/message/write.ts'), 'src/telemetry may import src/core only'),
  refuse('src/outbox', value('@opentelemetry/api'), 'Only src/telemetry knows OpenTelemetry'),
  ...allow('src/telemetry', type('@opentelemetry/api'), value('../core/headers.ts')),

  refuse('src/watch', value('../relay/relay.ts'), 'src/watch may import'),
  refuse('src/watch', value('../brokers/http/transport/http-transport.ts'), 'src/watch may import'),
  refuse('src/app', value('nodemailer'), 'nodemailer stays in src/watch'),
  ...allow(
    'src/watch',
    type('nodemailer'),
    type('../relay/report.ts'),
    value('../store/alerts/alerts.ts'),
    value('../brokers/http/client/signatures.ts'),
    value('../core/packages.ts'),
  ),

  refuse('src/bulk', value('../relay/starter.ts'), 'src/bulk may import src/store and src/core only'),
  ...allow('src/bulk', value('../store/bulk/page.ts'), value('../core/crash-point.ts')),

  refuse('src/relay', value('../temporal/client.ts'), 'src/relay may import'),
  refuse('src/relay', value('../brokers/transport.ts'), 'the types of src/brokers/transport.ts'),
  refuse('src/relay', type('../brokers/kafka/transport/brokers.ts'), 'the types of src/brokers/transport.ts'),
  refuse('src/relay', type('@temporalio/client'), onlyTemporal),
  refuse('src/relay', value('kafkajs'), kafkajs),
  ...allow(
    'src/relay',
    type('../brokers/transport.ts'),
    value('../store/lane/claim.ts'),
    value('../bulk/bulk-runner.ts'),
    value('../core/lane.ts'),
  ),

  refuse('src/brokers', value('../relay/drain.ts'), 'src/brokers/*.ts may import src/core only'),
  refuse('src/brokers', value('./kafka/client/topics.ts'), 'src/brokers/*.ts may import src/core only'),
  ...allow('src/brokers', value('../core/errors.ts'), value('./offered-batch.ts')),
  ...brokers.flatMap((broker) => [
    refuse(broker, value('../../store/lane/claim.ts'), oneBroker),
    refuse(`${broker}/client`, value('../../another/client/connection.ts'), oneBroker),
    ...allow(
      broker,
      value('./client/connection.ts'),
      value('../transport.ts'),
      value('../../core/errors.ts'),
    ),
    ...allow(`${broker}/source`, value('../client/connection.ts'), type('../../source.ts')),
  ]),
  ...clients.flatMap(([client, home, reason]) => [
    ...allow(`src/brokers/${home}/client`, value(client)),
    ...brokers
      .filter((broker) => !broker.endsWith(home))
      .map((broker) => refuse(broker, value(client), reason)),
  ]),

  refuse('src/inbox/intake', value('../../brokers/http/client/signatures.ts'), 'src/inbox/http also'),
  ...allow('src/inbox/http', value('../../brokers/http/client/signatures.ts'), value('../once.ts')),
  refuse('src/inbox', value('../relay/drain.ts'), 'src/inbox may import'),
  refuse('src/inbox', value('../brokers/source.ts'), 'the types of src/brokers/source.ts'),
  refuse('src/inbox', value('kafkajs'), kafkajs),
  refuse('src/inbox/intake', type('../parked/key-drain.ts'), 'belongs to neither'),
  refuse('src/inbox/parked', value('../intake/applier.ts'), 'belongs to neither'),
  ...allow('src/inbox/intake', type('../../brokers/source.ts'), value('../handling/kept.ts')),
  ...allow('src/inbox', value('../store/database/pool.ts'), value('../core/errors.ts')),

  refuse(
    'src/operations',
    value('../relay/starter.ts'),
    'src/operations may import src/store and src/core only',
  ),
  ...allow('src/operations', value('../store/message/release.ts'), value('../core/errors.ts')),

  refuse('src/inbox', value('@redis/client'), 'The client of Redis stays in'),

  refuse('src/temporal', value('../store/lane/claim.ts'), 'src/temporal may import activities'),
  refuse('src/temporal', value('../../workflows/deliver-lane.ts'), 'types of src/bulk and workflows'),
  ...allow('src/temporal/relay', value('../../../activities/lane.ts'), value('../../relay/port.ts')),
  ...allow(
    'src/temporal',
    value('../../activities/lane.ts'),
    value('../relay/port.ts'),
    value('@temporalio/worker'),
  ),

  refuse('src/config', value('../temporal/worker.ts'), 'src/config reads and checks settings'),
  refuse('src/config', value('../brokers/transport.ts'), 'src/config reads and checks settings'),
  ...allow(
    'src/config',
    type('../brokers/transport.ts'),
    value('../relay/timings.ts'),
    value('../core/errors.ts'),
  ),
  ...allow('src/config', 'export const url = process.env.DATABASE_URL;\n'),

  refuse('src/app', value('../cli/main.ts'), 'src/app composes the parts'),
  ...['src/config', 'src/inbox', 'src/testing'].map((from) => refuse(from, lax, 'statedTime')),
  refuse('src/app', value('pg'), onlyStore),
  ...allow('src/app', value('../store/database/pool.ts'), value('../config/config.ts')),

  refuse('dev/servers', value('../../src/config/config.ts'), 'dev/servers may import src/core'),
  ...allow('dev/servers', value('kafkajs'), value('@temporalio/client'), value('pg')),
  ...allow('dev/servers/kafka', value('../../../src/brokers/kafka/client/idle-timers.ts')),
  ...allow('dev/servers', value('../../src/core/errors.ts'), 'export const path = process.env.PATH;\n'),

  refuse('dev/init', value('../../src/config/config.ts'), 'dev/init may import src/core only'),
  ...allow('dev/init', value('../../src/core/errors.ts'), value('node:fs/promises')),

  refuse('dev/commands', value('../../src/store/lane/claim.ts'), 'dev/commands may import'),
  ...allow('dev/commands', value('../servers/index.ts'), value('../../src/cli/output.ts')),

  refuse('bin', value('../src/app/relay/start-relay.ts'), 'bin puts the commands'),
  ...allow('bin', value('../src/cli/run-program.ts')),

  refuse('src/api', value('../store/lane/claim.ts'), 'src/api may import'),
  refuse('src/operations', value('zod'), 'zod stays in the demo'),
  refuse('src/api', value('zod'), 'zod stays in the demo'),
  refuse('src/cli', value('hono'), 'Hono and the client of OpenID Connect stay in src/api'),
  ...allow('src/api', value('../app/operations/operations.ts'), value('hono')),
  ...allow('src/api/table', value('../../core/errors.ts'), value('../operation.ts')),

  refuse('src/cli', value('../store/lane/claim.ts'), 'src/cli may import'),
  refuse('src/cli', value('../testing/crash-at.ts'), 'src/cli may import'),
  refuse('src/cli', value('../../dev/servers/index.ts'), 'src/cli may import'),
  ...allow('src/cli', value('../operations/operations.ts'), value('../config/load.ts')),

  refuse('dev/demo', value('../../src/store/lane/claim.ts'), 'dev/demo is a user of the library'),
  ...allow('dev/demo', value('../../src/brokers/kafka/client/idle-timers.ts'), value('../servers/index.ts')),
  ...allow('dev/demo', value('../../src/index.ts'), value('../../src/consumer.ts')),
  ...allow('dev/demo', value('@prisma/adapter-pg'), value('../generated/shop/client.ts')),

  refuse('src/testing', value('../relay/relay.ts'), 'src/testing may import'),
  ...allow('src/testing', value('../brokers/transport.ts'), value('../outbox/send.ts')),

  refuse('src/nestjs', value('../inbox/consumer.ts'), 'src/nestjs may import'),
  ...allow(
    'src/nestjs',
    value('../app/consumer/consumer.ts'),
    type('../config/config.ts'),
    value('../core/reason.ts'),
  ),

  refuse('src/index.ts', value('./cli/main.ts'), 'not its faces'),
  refuse('src/relay.ts', value('./testing/crash-at.ts'), 'src/testing is for tests'),
  refuse('src/consumer.ts', value('ms'), 're-exports names of src'),
  refuse('src/operations.ts', value('../workflows/index.ts'), 're-exports names of src'),
  ...allow('src/transports.ts', `export { kafka } from './brokers/kafka/transport/kafka-transport.ts';\n`),
  ...allow('src/testing.ts', `export { crashAt } from './testing/crash-at.ts';\n`),

  refuse('activities', value('../src/config/config.ts'), 'Activities may import'),
  refuse('activities', value('../workflows/deliver-lane.ts'), 'Activities may import'),
  refuse('activities', value('pg'), onlyStore),
  ...allow('activities', value('../src/relay/drain.ts'), value('../src/store/message/release.ts')),
  ...allow('activities', value('@temporalio/activity'), type('../src/brokers/transport.ts')),

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
  ...allow('src/testing', `export const end = () => process.kill(process.pid, 'SIGKILL');\n`),
  ...allow('src/brokers/print', `export const print = () => process.stdout.write('x');\n`),
  refuse('src/relay', value('temporal-outbox/consumer'), 'resolves to the last build'),
  refuse('src/relay', value('../store/../config/config.ts'), 'Write the shortest path'),
  refuse('src/relay', `export const log = () => console.log('x');\n`, 'Unexpected console'),

  // A time that is a user's has limits that Node does not tell.
  ...['src/app/relay', 'src/brokers/kafka', 'src/cli', 'src/core', 'src/inbox', 'src/testing'].flatMap(
    (from) => timers.map((code) => refuse(from, code, 'use startTimer of')),
  ),
  ...allow('dev/servers', ...timers),
  // The parser of Node has no code, and quotes the text of others.
  ...['src/api', 'src/app/relay', 'src/brokers/rocketmq/client', 'src/cli', 'src/config', 'src/inbox'].map(
    (from) => refuse(from, parse, 'read by readJson'),
  ),
  ...allow('dev/servers', parse),
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
    const inside = new RegExp(`^${folder.replace('*', '\\w+')}(?:/|$)`);
    const own = cases.filter(({ from }) => inside.test(from));
    expect(
      own.map(({ reason }) => reason === undefined),
      folder,
    ).toEqual(expect.arrayContaining([true, false]));
  }
});

test('no two cases share a file', () => {
  expect(new Set(files).size).toBe(cases.length);
});
