import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { OutboxError } from './errors.ts';
import { isObject } from './options/collections.ts';

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

/** Where the versions that work are not those of one major: from, and below. */
const otherRanges: Readonly<Record<string, readonly [from: number, below: number]>> = {
  // Those of the second major of OpenTelemetry's SDK.
  '@opentelemetry/exporter-metrics-otlp-proto': [0.2, 0.3],
  '@opentelemetry/exporter-prometheus': [0.2, 0.3],
};

/**
 * Checks what is installed where it is loaded: `peerDependencies` have no upper end, because a range there would govern also those who
 * use the package for something else, and have no use for this part.
 *
 * @throws OutboxError `OUTBOX_PACKAGE_MISSING`, `OUTBOX_PACKAGE_UNFIT`, with the command that installs what the part lacks
 */
export function requirePackages(part: keyof typeof partPackages): void {
  const { for: who, packages } = partPackages[part];
  const found = packages.map((wanted) => ({
    wanted,
    name: nameOf(wanted),
    version: installedVersion(nameOf(wanted)),
  }));
  const missing = found.filter(({ version }) => version === null);
  if (missing.length > 0)
    throw new OutboxError(
      'OUTBOX_PACKAGE_MISSING',
      `${who} needs packages that are not installed: npm install ${missing.map(({ wanted }) => wanted).join(' ')}`,
      { details: { packages: missing.map(({ name }) => name) } },
    );
  const unfit = found.filter(({ version, wanted }) => typeof version === 'string' && !fits(version, wanted));
  if (unfit.length === 0) return;
  const versions = unfit.map(({ name, version }) => `${name} ${version}`).join(', ');
  throw new OutboxError(
    'OUTBOX_PACKAGE_UNFIT',
    `${who} was not tested with ${versions}: npm install ${unfit.map(({ wanted }) => wanted).join(' ')}`,
    { details: { packages: unfit.map(({ name }) => name) } },
  );
}

/** Whether a version is of those that a part takes; one that cannot be read is. */
export function fits(version: string, wanted: string): boolean {
  const [, major, minor] = /^(\d+)\.(\d+)\./.exec(version) ?? [];
  if (major === undefined || minor === undefined) return true;
  const [from, below] = otherRanges[nameOf(wanted)] ?? [];
  if (from !== undefined && below !== undefined) {
    const thousandths = Number(major) * 1_000 + Number(minor);
    return thousandths >= from * 1_000 && thousandths < below * 1_000;
  }
  return major === wanted.slice(wanted.lastIndexOf('@') + 1);
}

/** `null`: the package is not installed. `undefined`: it does not tell its version, or fails, which it says when it is loaded. */
function installedVersion(name: string): string | null | undefined {
  const require = createRequire(__filename);
  let folder: string;
  try {
    folder = dirname(require.resolve(name));
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND' ? null : undefined;
  }
  // Many packages do not export their manifest; some have others in the folders of their builds.
  for (let above = dirname(folder); above !== folder; [folder, above] = [above, dirname(above)]) {
    const manifest = manifestIn(require, folder);
    if (!isObject(manifest) || !('name' in manifest) || manifest.name !== name) continue;
    return 'version' in manifest && typeof manifest.version === 'string' ? manifest.version : undefined;
  }
  return undefined;
}

function manifestIn(require: NodeJS.Require, folder: string): unknown {
  try {
    return require(join(folder, 'package.json'));
  } catch {
    return undefined;
  }
}

/** `kafkajs` of `kafkajs@2`. */
function nameOf(wanted: string): string {
  return wanted.slice(0, wanted.lastIndexOf('@'));
}
