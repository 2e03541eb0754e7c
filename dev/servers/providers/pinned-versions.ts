import type { VersionRange } from './version-range.ts';

/** Exact versions of everything fetched from registries and Docker. */
export const pinned = {
  postgresPackage: '18.4.0-beta.17',
  temporalCli: '1.5.1',
  kafka: '4.1.1',
  /** The logging backend missing from Kafka's published jars; without it a broker writes no log. */
  kafkaLogging: '2.24.3',
  testServer: '1.30.1',
  /** The jar with the Redis programs. Their versions differ by platform; all are 6.2, the oldest supported. */
  redisPackage: '1.4.3',
  rocketmq: '5.4.0',
  mavenDependencyPlugin: '3.8.1',
} as const;

export const dockerImages = {
  postgres: 'postgres:18-alpine',
  temporal: `temporalio/temporal:${pinned.temporalCli}`,
  kafka: `apache/kafka:${pinned.kafka}`,
  redis: 'redis:8-alpine',
  rabbitmq: 'rabbitmq:4.2-alpine',
} as const;

/** Supported versions of programs on PATH. */
export const supported = {
  postgres: { from: [15], before: [19] },
  /** The server version inside the `temporal` program: builds from source do not report the program's own version. */
  temporalServer: { from: [1, 25], before: [2] },
  kafka: { from: [3, 7], before: [5] },
  /** 6.2 is the first version with SMISMEMBER. */
  redis: { from: [6, 2], before: [9] },
  /** 3.10 is the first version with at-least-once dead-lettering from quorum queues. */
  rabbitmq: { from: [3, 10], before: [5] },
  java: { from: [17], before: [Number.POSITIVE_INFINITY] },
  /** 1.21 is the first version that downloads the toolchain a module requires. */
  go: { from: [1, 21], before: [2] },
} as const satisfies Record<string, VersionRange>;
