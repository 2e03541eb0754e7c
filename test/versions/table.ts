/**
 * The versions that are supported, and those that `npm run versions` runs for each. The table of docs/versions.md and the
 * engines of package.json are made of this; a unit test holds both to it.
 */

/** A line of Node releases. */
export interface NodeLine {
  /** As people call it. */
  readonly name: string;
  /** The first and the newest release of the line that is run. Releases before the first are not supported. */
  readonly first: string;
  readonly newest: string;
}

/** A major version of PostgreSQL. */
export interface PostgresLine {
  readonly name: string;
  /** Version of the npm package with its binaries. */
  readonly packageVersion: string;
}

/** A version of something that the packed package is installed with. */
export interface NeighborLine {
  readonly name: string;
  /** What is installed, exactly. */
  readonly version: string;
}

export const nodes: readonly NodeLine[] = [
  { name: '20.19', first: '20.19.0', newest: '20.20.2' },
  { name: '22', first: '22.12.0', newest: '22.23.3' },
  { name: '24', first: '24.0.0', newest: '24.21.0' },
  { name: '26', first: '26.0.0', newest: '26.10.0' },
];

/**
 * Packages of the lock that ask for a later Node than the oldest one, of which `npm ci` warns there (`EBADENGINE`). Each has no
 * release that asks for less, is needed by a supported package, and is run on the oldest Node by its suites.
 */
export const askMore: readonly string[] = [
  // Parts of @platformatic/kafka 1, and itself before Node 20.19.4.
  '@platformatic/dynamic-buffer',
  '@platformatic/kafka',
  '@platformatic/wasm-utils',
  // A server that the command of Prisma 7 starts for `prisma dev` alone.
  '@prisma/streams-local',
];

export const postgres: readonly PostgresLine[] = [
  { name: '15', packageVersion: '15.18.0-beta.17' },
  { name: '16', packageVersion: '16.14.0-beta.17' },
  { name: '17', packageVersion: '17.10.0-beta.17' },
  { name: '18', packageVersion: '18.4.0-beta.17' },
];

export const typescript: readonly NeighborLine[] = [
  { name: '5.9', version: '5.9.3' },
  { name: '7', version: '7.0.2' },
];

export const prisma: readonly NeighborLine[] = [
  { name: '6.19', version: '6.19.3' },
  { name: '7', version: '7.10.0' },
];

/** A line of an optional package that has several, in the releases that are run: its first and its newest. */
export interface ClientLine {
  readonly kind: 'kafka' | 'undici' | 'opentelemetry';
  readonly name: string;
  /** The first Node that runs it. */
  readonly node: string;
  /** What is installed together, exactly; the first names the version. */
  readonly releases: readonly Readonly<Record<string, string>>[];
}

const kafka = (version: string) => ({ '@platformatic/kafka': version });
const undici = (version: string) => ({ undici: version });
const opentelemetry = (sdk: string, exporters: string, api: string) => ({
  '@opentelemetry/sdk-metrics': sdk,
  '@opentelemetry/exporter-prometheus': exporters,
  '@opentelemetry/exporter-metrics-otlp-proto': exporters,
  '@opentelemetry/api': api,
});

export const clients: readonly ClientLine[] = [
  { kind: 'kafka', name: '1', node: '20.19.0', releases: [kafka('1.35.0')] },
  { kind: 'kafka', name: '2', node: '22.22.0', releases: [kafka('2.4.0'), kafka('2.12.1')] },
  { kind: 'undici', name: '7', node: '20.19.0', releases: [undici('7.5.0'), undici('7.30.2')] },
  { kind: 'undici', name: '8', node: '22.19.0', releases: [undici('8.0.0'), undici('8.13.1')] },
  {
    kind: 'opentelemetry',
    name: '2',
    node: '20.19.0',
    releases: [opentelemetry('2.0.0', '0.200.0', '1.9.0'), opentelemetry('2.12.1', '0.223.0', '1.9.1')],
  },
  {
    kind: 'opentelemetry',
    name: '3',
    node: '22.15.0',
    releases: [opentelemetry('3.0.0', '0.300.0', '1.10.0'), opentelemetry('3.1.1', '0.301.0', '1.10.0')],
  },
];

/** Another client than the versions before it, behind `prisma8`. */
export const candidates: readonly NeighborLine[] = [{ name: '8', version: '8.0.0-rc.13' }];

/** What package.json says of Node: the lines above from their first releases, and what comes after the last. */
export function engines(): string {
  return nodes.map(({ first }, n) => `${n === nodes.length - 1 ? '>=' : '^'}${first}`).join(' || ');
}

/** The table of docs/versions.md. */
function versionTable(): string {
  const named = (lines: readonly { readonly name: string }[]): string =>
    lines.map(({ name }) => name).join(', ');
  const exact = (versions: readonly string[]): string => versions.join(', ');
  const rows = [
    [
      'Node',
      named(nodes),
      'unit and contract tests and the demo, without a warning',
      exact(nodes.flatMap(({ first, newest }) => [first, newest])),
    ],
    [
      'PostgreSQL',
      named(postgres),
      'schema, sending, lanes and inbox',
      exact(postgres.map(({ packageVersion }) => packageVersion.replace(/\.0-.*/, ''))),
    ],
    [
      'TypeScript',
      named(typescript),
      'the packed package in CommonJS and ESM projects',
      exact(typescript.map(({ version }) => version)),
    ],
    [
      'Prisma',
      named(prisma),
      'sending with plain and extended clients, and those with replicas',
      exact(prisma.map(({ version }) => version)),
    ],
    [
      'Prisma',
      named(candidates),
      'sending and consuming with `prisma8`',
      exact(candidates.map(({ version }) => `${version} of @prisma/orm-postgres`)),
    ],
    clientRow('`@platformatic/kafka`', 'kafka', 'sending and reading, also with TLS and SASL'),
    clientRow('undici', 'undici', 'sending over HTTP'),
    clientRow("OpenTelemetry's SDK", 'opentelemetry', 'metrics and traces, exporters 0.2xx and 0.3xx'),
  ];
  const head = ['', 'versions', 'what is run on each', 'exactly'];
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

function clientRow(title: string, kind: ClientLine['kind'], what: string): readonly string[] {
  const lines = clients.filter((line) => line.kind === kind);
  const oldest = nodes[0]?.first;
  const named = lines.map(({ name, node }) =>
    node === oldest ? name : `${name} (Node ${node.replace(/\.0$/, '')})`,
  );
  const exact = lines.flatMap(({ releases }) => releases.map(versionOf));
  return [title, named.join(', '), what, exact.join(', ')];
}

/** The version of a release, that of its first package. */
export function versionOf(release: Readonly<Record<string, string>>): string {
  return Object.values(release)[0] ?? '';
}

const start = '<!-- versions: made of test/versions/table.ts by `npm run versions -- --write` -->\n';
const end = '<!-- /versions -->';

/** A page with its table renewed. */
export function withVersionTable(page: string): string {
  const from = page.indexOf(start);
  const to = page.indexOf(end);
  if (from < 0 || to < from) throw new Error('The page has no place for the table of versions.');
  return `${page.slice(0, from + start.length)}\n${versionTable()}\n\n${page.slice(to)}`;
}
