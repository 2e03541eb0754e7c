/**
 * The layers. `imports` are folders of src (or paths from it), `types` those from which only types may be imported,
 * `uses` the allowed packages with one home (import-directions.mjs). Any other import from outside the layer's folder
 * is rejected with `reason`. `depth: 2` covers subfolders; `homes` lists what one subfolder may also use and import.
 */
export const layers = [
  {
    folder: 'src/core',
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
    folder: 'src/tracing',
    imports: ['core/'],
    uses: ['opentelemetry'],
    reason: 'src/tracing may import src/core only: a trace is a pair of headers, whatever carries them.',
  },
  {
    folder: 'src/outbox',
    imports: ['core/', 'store/', 'tracing/'],
    uses: ['io'],
    reason:
      'src/outbox may import src/store, src/tracing and src/core only: writing a message needs no relay and no broker.',
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
    imports: ['core/', 'store/', 'bulk/'],
    types: ['transports/transport.ts'],
    uses: ['io'],
    reason:
      'src/relay may import src/bulk, src/store, src/core and the types of src/transports/transport.ts: it delivers without Temporal and without knowing a broker.',
  },
  {
    folder: 'src/kafka',
    imports: ['core/'],
    types: ['sources/source.ts'],
    uses: ['kafkajs', 'platformatic', 'io'],
    reason:
      'src/kafka may import src/core and the types of src/sources/source.ts: it asks brokers for transport, source and operations and knows none of them.',
  },
  {
    folder: 'src/http',
    imports: ['core/'],
    uses: ['webhooks'],
    reason:
      'src/http may import src/core only: sender and receiver sign and write headers alike, and know nothing of each other.',
  },
  {
    folder: 'src/rabbitmq',
    imports: ['core/'],
    uses: ['amqplib', 'io'],
    reason:
      'src/rabbitmq may import src/core only: it connects transport and source to a server and knows none of them.',
  },
  {
    folder: 'src/redis',
    imports: ['core/'],
    uses: ['redis', 'io'],
    reason:
      'src/redis may import src/core only: it connects to a server for filter, transport and source and knows none of them.',
  },
  {
    folder: 'src/rocketmq',
    imports: ['core/'],
    uses: ['rocketmq', 'io'],
    reason:
      'src/rocketmq may import src/core only: it asks proxies for transport and source and knows neither.',
  },
  {
    folder: 'src/transports',
    depth: 2,
    imports: ['core/'],
    uses: ['io'],
    types: ['sources/source.ts'],
    homes: {
      kafka: { uses: ['kafkajs', 'platformatic'], imports: ['kafka/', 'sources/kafka/'] },
      rabbitmq: { uses: ['amqplib'], imports: ['rabbitmq/', 'sources/rabbitmq/'] },
      http: { uses: ['undici'], imports: ['http/'] },
      redis: { uses: ['redis'], imports: ['redis/', 'sources/redis/'] },
      rocketmq: { uses: ['rocketmq'], imports: ['rocketmq/', 'sources/rocketmq/'] },
      // The only part of src/temporal: how to connect to Temporal.
      workflow: {
        uses: ['temporal'],
        imports: ['temporal/connection.ts', 'temporal/runtime.ts', 'temporal/temporal-address.ts'],
      },
    },
    reason:
      'src/transports may import src/core, the types of src/sources/source.ts, folders named after a broker its folders src/<broker> and src/sources/<broker>, and src/transports/workflow how src/temporal connects: a transport moves bytes and knows neither rows nor lanes.',
  },
  {
    folder: 'src/sources',
    depth: 2,
    imports: ['core/'],
    uses: ['io'],
    homes: {
      kafka: { uses: ['kafkajs'], imports: ['kafka/'] },
      rabbitmq: { uses: ['amqplib'], imports: ['rabbitmq/'] },
      redis: { uses: ['redis'], imports: ['redis/'] },
      rocketmq: { uses: ['rocketmq'], imports: ['rocketmq/'] },
    },
    reason:
      'src/sources may import src/core, and folders named after a broker its folder src/<broker>: a source hands over what arrived and knows neither rows nor handlers.',
  },
  {
    folder: 'src/inbox',
    depth: 2,
    imports: ['core/', 'store/', 'tracing/', 'bulk/', 'sources/incoming-message.ts'],
    types: ['sources/source.ts'],
    uses: ['io'],
    homes: { http: { uses: [], imports: ['http/'] } },
    reason:
      'src/inbox may import src/bulk, src/store, src/tracing, src/core, src/sources/incoming-message.ts and the types of src/sources/source.ts, and src/inbox/http also src/http: handling a message needs neither relay nor broker.',
  },
  {
    folder: 'src/filters',
    depth: 2,
    imports: ['core/'],
    types: ['inbox/window/seen-filter.ts'],
    uses: ['io'],
    homes: { redis: { uses: ['redis'], imports: ['redis/'] } },
    reason:
      'src/filters may import src/core, src/filters/redis src/redis, and the types of src/inbox/window/seen-filter.ts: a filter notes ids and knows neither rows nor handlers.',
  },
  {
    folder: 'src/operations',
    depth: 2,
    imports: ['core/', 'store/'],
    uses: ['io'],
    reason: 'src/operations may import src/store and src/core only: rows decide what an operator may do.',
  },
  {
    folder: 'src/temporal',
    depth: 2,
    imports: ['core/', 'relay/', 'inbox/', '../activities/'],
    types: ['bulk/', 'config/', '../workflows/'],
    uses: ['temporal', 'io'],
    reason:
      'src/temporal may import activities, src/relay, src/inbox and src/core, and types of src/bulk, src/config and workflows: it implements ports and composes nothing else.',
  },
  {
    folder: 'src/config',
    imports: [
      'core/',
      'store/',
      'outbox/',
      'relay/',
      'inbox/',
      'kafka/',
      'transports/',
      'sources/',
      'operations/',
      'temporal/',
    ],
    uses: ['pg', 'process', 'io'],
    reason:
      'src/config composes the parts of the library, but none of its faces: cli, local, demo and testing stand above it.',
  },
  {
    // It probes each server with the client that will be used, hence the packages.
    folder: 'src/local',
    depth: 2,
    imports: ['core/', 'kafka/idle-timers.ts'],
    uses: ['pg', 'kafkajs', 'temporal', 'process', 'io'],
    reason:
      'src/local may import src/core and src/kafka/idle-timers.ts: it starts servers for others and works before anything is configured.',
  },
  {
    folder: 'src/init',
    imports: ['core/'],
    uses: ['io'],
    reason:
      'src/init may import src/core only: it writes the first files of a project, in which nothing is configured yet.',
  },
  {
    folder: 'src/cli',
    imports: ['core/', 'config/', 'operations/', 'local/', 'demo/', 'init/'],
    uses: ['process', 'io'],
    reason:
      'src/cli may import src/config, src/operations, src/local, src/demo, src/init and src/core: a face shows what operations answer and decides nothing.',
  },
  {
    // It reads Kafka's log with a client that shares nothing with the audited transport, hence kafkajs.
    folder: 'src/demo',
    imports: ['*.ts', 'core/', 'config/', 'operations/', 'local/', 'kafka/idle-timers.ts'],
    uses: ['pg', 'prisma', 'kafkajs', 'process', 'io'],
    reason:
      'src/demo is a user of the library: it imports entry points, src/config, src/operations, src/local, src/core and src/kafka/idle-timers.ts.',
  },
  {
    folder: 'src/testing',
    imports: ['core/', 'store/', 'outbox/', 'transports/', 'sources/'],
    uses: ['io'],
    reason:
      'src/testing may import src/core, src/store, src/outbox, src/transports and src/sources: the tests of users need no relay.',
  },
  {
    folder: 'src/nestjs',
    imports: ['core/', 'config/'],
    types: ['inbox/', 'store/database/transaction.ts'],
    uses: [],
    reason:
      'src/nestjs may import src/config, src/core and types of src/inbox: it is a consumer in the shape that NestJS wants, without a package of NestJS.',
  },
  {
    folder: 'activities',
    imports: ['core/', 'store/', 'bulk/', 'relay/', 'inbox/', 'transports/', 'sources/'].map(
      (path) => `src/${path}`,
    ),
    uses: ['temporal'],
    reason:
      'Activities may import src/bulk, src/relay, src/inbox, src/transports, src/sources, src/store and src/core: they give functions a heartbeat and decide nothing.',
  },
];
