import type { VersionRange } from './version-range.ts';

/** What is taken from registries and Docker, always in these exact versions. */
export const pinned = {
  postgresPackage: '18.4.0-beta.17',
  temporalCli: '1.5.1',
  kafka: '4.1.1',
  /** The logging bridge that Kafka's published jars leave out; without it a broker writes no log at all. */
  kafkaLogging: '2.24.3',
  testServer: '1.30.1',
  /** The jar of Redis programs, whose versions differ by platform: 6.2, the oldest that is supported. */
  redisPackage: '1.4.3',
  mavenDependencyPlugin: '3.8.1',
} as const;

export const dockerImages = {
  postgres: 'postgres:18-alpine',
  temporal: `temporalio/temporal:${pinned.temporalCli}`,
  kafka: `apache/kafka:${pinned.kafka}`,
  redis: 'redis:8-alpine',
  rabbitmq: 'rabbitmq:4.2-alpine',
} as const;

/** Versions of programs on PATH that are used. */
export const supported = {
  postgres: { from: [15], before: [19] },
  /** The version of the server inside the `temporal` program: builds from source do not tell the program's own. */
  temporalServer: { from: [1, 25], before: [2] },
  kafka: { from: [3, 7], before: [5] },
  /** The first that asks a set about many members at once. */
  redis: { from: [6, 2], before: [9] },
  /** The first with quorum queues that dead-letter without loss. */
  rabbitmq: { from: [3, 10], before: [5] },
  java: { from: [17], before: [Number.POSITIVE_INFINITY] },
  /** The first Go that fetches the toolchain a module asks for. */
  go: { from: [1, 21], before: [2] },
} as const satisfies Record<string, VersionRange>;
