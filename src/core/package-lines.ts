/** Releases of a package that are supported: from one version on, and before another. */
export interface PackageLine {
  /** As people call it. */
  readonly name: string;
  readonly from: string;
  readonly before: string;
  /** The first Node that runs it, if that is later than the first one that this library supports. */
  readonly node?: string;
}

/** What is known of a package that a part of the library needs. */
export interface PackageLines {
  /** What `npm install` takes: of a line that runs on every supported Node. */
  readonly installs: string;
  readonly lines: readonly PackageLine[];
}

const major = (one: number, from = `${one}.0.0`, node?: string): PackageLine => ({
  name: String(one),
  from,
  before: `${one + 1}.0.0`,
  ...(node === undefined ? {} : { node }),
});

const only = (line: PackageLine): PackageLines => ({ installs: line.name, lines: [line] });

const temporal = only(major(1, '1.24.0'));
const exporter: PackageLines = {
  installs: '0.223',
  lines: [
    { name: '0.2xx', from: '0.200.0', before: '0.300.0' },
    { name: '0.3xx', from: '0.300.0', before: '0.400.0', node: '22.15.0' },
  ],
};

/**
 * The supported versions of optional packages. `package.json` cannot state them: npm holds the range of an optional peer against
 * every project that has the package, also against one that never loads it here. A part checks them when it loads the package.
 */
export const packageLines = {
  '@hono/node-server': only(major(2)),
  '@opentelemetry/api': only(major(1, '1.3.0')),
  '@opentelemetry/exporter-metrics-otlp-proto': exporter,
  '@opentelemetry/exporter-prometheus': exporter,
  '@opentelemetry/sdk-metrics': { installs: '2', lines: [major(2), major(3, '3.0.0', '22.15.0')] },
  '@platformatic/kafka': { installs: '1', lines: [major(1, '1.35.0'), major(2, '2.4.0', '22.22.0')] },
  '@prisma/adapter-pg': { installs: '7', lines: [major(6, '6.19.0'), major(7)] },
  '@prisma/client': { installs: '7', lines: [major(6, '6.19.0'), major(7)] },
  '@redis/client': only(major(6, '6.3.1')),
  '@temporalio/activity': temporal,
  '@temporalio/client': temporal,
  '@temporalio/worker': temporal,
  '@temporalio/workflow': temporal,
  amqplib: only(major(2, '2.3.1')),
  hono: only(major(4)),
  kafkajs: only(major(2, '2.2.4')),
  nodemailer: only(major(10)),
  'openid-client': only(major(6)),
  'rocketmq-client-nodejs': only(major(1, '1.0.8')),
  standardwebhooks: only(major(1, '1.1.0')),
  // Before 7.5.0 it never ends closing after a certificate for another name.
  undici: { installs: '7', lines: [major(7, '7.5.0'), major(8, '8.0.0', '22.19.0')] },
  zod: only(major(4)),
} as const satisfies Readonly<Record<string, PackageLines>>;

/** A package that only a part of the library needs. */
export type OptionalPackage = keyof typeof packageLines;

/**
 * Packages that only a part of the library needs. They are optional peers, because a service that only sends would install
 * 265 MB for nothing. A test compares them with `peerDependencies`.
 */
export const partPackages = {
  temporal: {
    for: 'A relay or consumer',
    packages: ['@temporalio/activity', '@temporalio/client', '@temporalio/worker', '@temporalio/workflow'],
  },
  kafka: { for: 'Kafka', packages: ['@platformatic/kafka', 'kafkajs'] },
  rabbitmq: { for: 'RabbitMQ', packages: ['amqplib'] },
  webhooks: { for: 'Receiving over HTTP', packages: ['standardwebhooks'] },
  http: { for: 'Sending over HTTP', packages: ['standardwebhooks', 'undici'] },
  redis: { for: 'Redis', packages: ['@redis/client'] },
  rocketmq: { for: 'RocketMQ', packages: ['rocketmq-client-nodejs'] },
  metrics: {
    for: 'Exporting metrics',
    packages: ['@opentelemetry/api', '@opentelemetry/exporter-prometheus', '@opentelemetry/sdk-metrics'],
  },
  otlp: {
    for: 'Sending metrics by OTLP',
    packages: ['@opentelemetry/exporter-metrics-otlp-proto'],
  },
  email: { for: 'Alerts by e-mail', packages: ['nodemailer'] },
  api: { for: 'The HTTP API', packages: ['@hono/node-server', 'hono'] },
  signIn: { for: 'Signing in by OpenID Connect', packages: ['openid-client'] },
  demo: {
    for: 'The demo, a shop with Prisma models,',
    packages: ['@prisma/adapter-pg', '@prisma/client', 'zod'],
  },
} as const satisfies Readonly<Record<string, { for: string; packages: readonly OptionalPackage[] }>>;

/** As an argument of `npm install`. */
export function installArgument(name: OptionalPackage): string {
  return `${name}@${packageLines[name].installs}`;
}

/** Why an installed version is not supported; `undefined` if it is. @param node the version of Node that runs */
export function misfitOf(name: OptionalPackage, version: string, node: string): string | undefined {
  const { lines }: PackageLines = packageLines[name];
  const line = lines.find(({ from, before }) => isAtLeast(version, from) && !isAtLeast(version, before));
  if (line === undefined) {
    const wanted = lines.map((one) => `${one.name} (from ${one.from})`).join(' or ');
    return `${name} ${version} is not supported, but ${wanted}`;
  }
  if (line.node === undefined || isAtLeast(node, line.node)) return undefined;
  return `${name} ${version} needs Node ${line.node} or later, and this is ${node}`;
}

/** Of a prerelease its number counts. */
function isAtLeast(version: string, bound: string): boolean {
  const [ours, theirs] = [version, bound].map((text) => text.split(/[-+]/)[0]?.split('.').map(Number) ?? []);
  const difference =
    [0, 1, 2].map((n) => (ours?.[n] ?? 0) - (theirs?.[n] ?? 0)).find((one) => one !== 0) ?? 0;
  return difference >= 0;
}
