/** The packages that a broker brings, which only its folder may use. One that brings none needs no line here. */
const brokers = {
  '*': [],
  http: ['undici', 'webhooks'],
  kafka: ['kafkajs', 'platformatic'],
  rabbitmq: ['amqplib'],
  redis: ['redis'],
  rocketmq: ['rocketmq'],
  workflow: ['temporal'],
};

/**
 * The layers. `imports` are folders of src (or paths from it), `types` those from which only types may be imported,
 * `uses` the allowed packages with one home (import-directions.mjs). Any other import from outside the layer's folder
 * is rejected with `reason`. `depth: 2` covers subfolders, `flat` refuses to import from them; `homes` lists what one
 * subfolder may also use and import; of `apart`, no subfolder imports another.
 */
export const layers = [
  {
    folder: 'src/core',
    depth: 2,
    imports: [],
    uses: [],
    reason: 'src/core holds pure rules and imports nothing of the project, so that everything may import it.',
  },
  {
    folder: 'src/store',
    depth: 2,
    imports: ['core/'],
    uses: ['pg', 'io'],
    reason: 'src/store may import src/core only: SQL knows the rules, and nobody above it.',
  },
  {
    folder: 'src/telemetry',
    imports: ['core/'],
    uses: ['opentelemetry'],
    reason: 'src/telemetry may import src/core only: it measures and follows whatever others call.',
  },
  {
    folder: 'src/outbox',
    imports: ['core/', 'store/', 'telemetry/'],
    uses: ['io'],
    reason:
      'src/outbox may import src/store, src/telemetry and src/core only: writing a message needs no relay and no broker.',
  },
  {
    folder: 'src/bulk',
    imports: ['core/', 'store/'],
    uses: ['io'],
    reason:
      'src/bulk may import src/store and src/core only: relays and consumers carry out bulk operations alike.',
  },
  {
    folder: 'src/relay',
    imports: ['core/', 'store/', 'bulk/', 'telemetry/'],
    types: ['brokers/transport.ts'],
    uses: ['io'],
    reason:
      'src/relay may import src/bulk, src/store, src/telemetry, src/core and the types of src/brokers/transport.ts: it delivers without Temporal and without knowing a broker.',
  },
  {
    folder: 'src/brokers',
    flat: true,
    imports: ['core/'],
    uses: ['io'],
    reason: 'src/brokers/*.ts may import src/core only: they are the ports, and what brokers share.',
  },
  ...Object.entries(brokers).map(([name, uses]) => ({
    folder: `src/brokers/${name}`,
    depth: 2,
    imports: ['core/', 'brokers/*.ts'],
    uses: ['io', ...uses],
    reason:
      'A folder of src/brokers may import src/core and src/brokers/*.ts: a broker moves bytes, and knows neither rows, lanes and handlers nor another broker.',
  })),
  {
    folder: 'src/inbox',
    depth: 2,
    imports: ['core/', 'store/', 'telemetry/', 'bulk/', 'brokers/incoming-message.ts'],
    types: ['brokers/source.ts', 'brokers/seen-filter.ts'],
    uses: ['io'],
    homes: { http: { uses: [], imports: ['brokers/http/client/'] } },
    apart: ['intake', 'parked'],
    reason:
      'src/inbox may import src/bulk, src/store, src/telemetry, src/core, src/brokers/incoming-message.ts and the types of src/brokers/source.ts and src/brokers/seen-filter.ts, and src/inbox/http also src/brokers/http/client: handling a message needs neither relay nor broker.',
  },
  {
    folder: 'src/operations',
    depth: 2,
    imports: ['core/', 'store/'],
    uses: ['io'],
    reason: 'src/operations may import src/store and src/core only: rows decide what an operator may do.',
  },
  {
    folder: 'src/watch',
    depth: 2,
    imports: ['core/', 'store/', 'telemetry/', 'brokers/http/client/signatures.ts'],
    types: ['relay/report.ts'],
    uses: ['nodemailer', 'io'],
    reason:
      'src/watch may import src/store, src/telemetry, src/core, src/brokers/http/client/signatures.ts and the types of src/relay/report.ts: it reads, judges and reports figures, and delivers nothing.',
  },
  {
    folder: 'src/temporal',
    depth: 2,
    imports: ['core/', 'relay/', 'inbox/', 'brokers/workflow/client/', '../activities/'],
    types: ['bulk/', '../workflows/'],
    uses: ['temporal', 'io'],
    reason:
      'src/temporal may import activities, src/relay, src/inbox, src/brokers/workflow/client and src/core, and types of src/bulk and workflows: it implements ports and composes nothing else.',
  },
  {
    folder: 'src/config',
    imports: [
      'core/',
      'watch/settings.ts',
      'store/database/database-address.ts',
      'relay/timings.ts',
      'brokers/workflow/client/temporal-address.ts',
    ],
    types: [
      'brokers/transport.ts',
      'relay/on-failed.ts',
      'watch/on-alert.ts',
      'store/installation/settings.ts',
    ],
    uses: ['process', 'io'],
    reason: 'src/config reads and checks settings and composes nothing: src/app does.',
  },
  {
    folder: 'src/app',
    depth: 2,
    imports: [
      'core/',
      'store/',
      'outbox/',
      'relay/',
      'inbox/',
      'watch/',
      'brokers/',
      'operations/',
      'temporal/',
      'config/',
      'telemetry/',
    ],
    uses: ['io'],
    reason:
      'src/app composes the parts of the library, but none of its faces: cli and testing stand above it.',
  },
  {
    folder: 'src/api',
    depth: 2,
    imports: ['core/', 'config/', 'app/', 'operations/'],
    uses: ['hono', 'io'],
    reason:
      'src/api may import src/app, src/config, src/operations and src/core: it is a face over HTTP, which proves callers and shows what operations answer.',
  },
  {
    folder: 'src/cli',
    imports: ['core/', 'config/', 'app/', 'operations/', 'api/'],
    uses: ['process', 'io'],
    reason:
      'src/cli may import src/app, src/config, src/operations, src/api and src/core: a face shows what operations answer and decides nothing.',
  },
  {
    folder: 'src/testing',
    imports: ['core/', 'store/', 'outbox/', 'brokers/*.ts', 'brokers/memory/'],
    uses: ['io'],
    reason:
      'src/testing may import src/core, src/store, src/outbox, src/brokers/*.ts and src/brokers/memory: the tests of users need no relay.',
  },
  {
    folder: 'src/nestjs',
    imports: ['core/', 'app/'],
    types: ['config/', 'inbox/', 'store/database/transaction.ts'],
    uses: [],
    reason:
      'src/nestjs may import src/app, src/core and types of src/config and src/inbox: it is a consumer in the shape that NestJS wants, without a package of NestJS.',
  },
  {
    // It probes each server with the client that will be used, hence the packages.
    folder: 'dev/servers',
    depth: 2,
    imports: ['src/core/', 'src/brokers/kafka/client/idle-timers.ts', 'src/brokers/rocketmq/client/'],
    uses: ['pg', 'kafkajs', 'temporal', 'process', 'io'],
    reason:
      'dev/servers may import src/core, src/brokers/kafka/client/idle-timers.ts and src/brokers/rocketmq/client: it starts servers for others and works before anything is configured.',
  },
  {
    folder: 'dev/init',
    imports: ['src/core/'],
    uses: ['io'],
    reason:
      'dev/init may import src/core only: it writes the first files of a project, in which nothing is configured yet.',
  },
  {
    // It reads Kafka's log with a client that shares nothing with the audited transport, hence kafkajs.
    folder: 'dev/demo',
    imports: [
      'src/*.ts',
      'src/core/',
      'src/config/',
      'src/app/',
      'src/operations/',
      'src/brokers/kafka/client/idle-timers.ts',
      'dev/servers/',
      'dev/generated/',
    ],
    uses: ['pg', 'prisma', 'kafkajs', 'zod', 'process', 'io'],
    reason:
      'dev/demo is a user of the library: it imports entry points, src/app, src/config, src/operations, src/core, src/brokers/kafka/client/idle-timers.ts and dev/servers.',
  },
  {
    folder: 'dev/commands',
    imports: [
      'src/core/',
      'src/config/',
      'src/app/',
      'src/operations/',
      'src/cli/',
      'dev/servers/',
      'dev/demo/',
      'dev/init/',
    ],
    uses: ['process', 'io'],
    reason:
      'dev/commands may import dev/servers, dev/demo, dev/init, and src/cli and what it may import: it is the part of the command line for development.',
  },
  {
    folder: 'bin',
    imports: ['src/cli/run-program.ts', 'dev/commands/development-commands.ts'],
    uses: [],
    reason: 'bin puts the commands of src/cli and dev/commands together, and nothing else.',
  },
  {
    folder: 'activities',
    imports: ['core/', 'store/', 'bulk/', 'relay/', 'inbox/', 'brokers/*.ts'].map((path) => `src/${path}`),
    uses: ['temporal'],
    reason:
      'Activities may import src/bulk, src/relay, src/inbox, src/brokers/*.ts, src/store and src/core: they give functions a heartbeat and decide nothing.',
  },
];
