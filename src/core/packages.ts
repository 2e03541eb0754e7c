import { createRequire } from 'node:module';
import { OutboxError } from './errors.ts';

/**
 * Packages that only a part of the library needs, as arguments of `npm install`. They are optional peers, because a service
 * that only sends would install 265 MB for nothing. A test compares them with `peerDependencies`.
 */
export const partPackages = {
  temporal: {
    for: 'A relay or consumer',
    packages: [
      '@temporalio/activity@1',
      '@temporalio/client@1',
      '@temporalio/worker@1',
      '@temporalio/workflow@1',
    ],
  },
  kafka: { for: 'Kafka', packages: ['@platformatic/kafka@1', 'kafkajs@2'] },
  rabbitmq: { for: 'RabbitMQ', packages: ['amqplib@2'] },
  webhooks: { for: 'Receiving over HTTP', packages: ['standardwebhooks@1'] },
  http: { for: 'Sending over HTTP', packages: ['standardwebhooks@1', 'undici@7'] },
  redis: { for: 'Redis', packages: ['@redis/client@6'] },
  rocketmq: { for: 'RocketMQ', packages: ['rocketmq-client-nodejs@1'] },
  metrics: {
    for: 'Exporting metrics',
    packages: [
      '@opentelemetry/api@1',
      '@opentelemetry/exporter-prometheus@0.223',
      '@opentelemetry/sdk-metrics@2',
    ],
  },
  otlp: {
    for: 'Sending metrics by OTLP',
    packages: ['@opentelemetry/exporter-metrics-otlp-proto@0.223'],
  },
  email: { for: 'Alerts by e-mail', packages: ['nodemailer@10'] },
  api: { for: 'The HTTP API', packages: ['@hono/node-server@2', 'hono@4', 'zod@4'] },
  signIn: { for: 'Signing in by OpenID Connect', packages: ['openid-client@6'] },
  demo: {
    for: 'The demo, a shop with Prisma models,',
    packages: ['@prisma/adapter-pg@7', '@prisma/client@7', 'zod@4'],
  },
} as const;

/** @throws OutboxError `OUTBOX_PACKAGE_MISSING` with the command that installs what the part lacks */
export function requirePackages(part: keyof typeof partPackages): void {
  const { resolve } = createRequire(__filename);
  const { for: who, packages } = partPackages[part];
  const missing = packages.filter((name) => !isInstalled(resolve, nameOf(name)));
  if (missing.length === 0) return;
  throw new OutboxError(
    'OUTBOX_PACKAGE_MISSING',
    `${who} needs packages that are not installed: npm install ${missing.join(' ')}`,
    { details: { packages: missing.map(nameOf) } },
  );
}

function isInstalled(resolve: NodeJS.RequireResolve, name: string): boolean {
  try {
    resolve(name);
    return true;
  } catch (error) {
    // Any other error is thrown when the package is loaded.
    return !(error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND');
  }
}

/** `kafkajs` of `kafkajs@2`. */
function nameOf(wanted: string): string {
  return wanted.slice(0, wanted.lastIndexOf('@'));
}
