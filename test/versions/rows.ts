import {
  type ClientLine,
  candidates,
  clients,
  nodes,
  postgres,
  prisma,
  typescript,
  versionOf,
} from './table.ts';

/** Something that is run on one version. */
export interface Suite {
  readonly name: string;
  /** What Node is started with. */
  readonly args: readonly string[];
  /** Parts of the paths of the test files that it runs. @defaultValue all of a project */
  readonly files?: readonly string[];
}

/** One version, and what is run on it. */
export interface Row {
  readonly kind: 'node' | 'postgres' | 'typescript' | 'prisma' | ClientLine['kind'];
  /** Its line in the table. */
  readonly line: string;
  readonly version: string;
  readonly suites: readonly Suite[];
  /** The release of Node that runs it. @defaultValue the one that runs this program */
  readonly node?: string;
  /** Packages, by their exact versions, that take the place of those that the repository has. */
  readonly packages?: Readonly<Record<string, string>>;
}

/** Which rows are run. */
export interface Choice {
  /** A kind, or a kind and a version or the beginning of one: `node`, `node:20.19`. @defaultValue all */
  readonly only?: string | undefined;
  /** The oldest and the newest Node, without what CI runs elsewhere. @defaultValue false */
  readonly ci?: boolean;
}

/** @param title part of the titles of the tests that are run, all without one */
function vitest(name: string, project: string, files: readonly string[] = [], title?: string): Suite {
  const titled = title === undefined ? [] : ['-t', title];
  return {
    name,
    args: ['node_modules/vitest/vitest.mjs', 'run', '--project', project, ...titled, ...files],
    files,
  };
}

const unit = vitest('unit', 'unit');
const contract = vitest('contract', 'contract');
const demo: Suite = { name: 'demo', args: ['dist/bin/temporal-outbox.js', 'demo', '--json'] };

/**
 * What a version of PostgreSQL could answer otherwise: the schema, plans, locks and races. Parts of paths; none of
 * these files starts a server of its own, or measures how long something takes.
 */
const sqlFiles = [
  'database/migrate',
  'sending/change',
  'sending/races',
  'sending/refusals',
  'sending/send',
  'sending/sql',
  'sending/values',
  'lanes/c',
  'relay/lease',
  'relay/late',
  'relay/blocked-keys',
  'relay/plans',
  'database/archive',
  'database/retention',
  'inbox/processed-',
  'inbox/effect-once',
  'inbox/once',
  'parked/plans',
  'operations/bulk-plans',
  'operations/verify-rows',
  'operations/edit',
  'operations/failed',
  'operations/list',
  'operations/pause',
  'operations/split-reads',
  'operations/status.test',
  'operations/status-lane-locks',
  'operations/withdraw',
  'database/pool-isolation',
  'cancel-race.test',
];
const sql = vitest('sql', 'integration', sqlFiles);

/** The titles are those of `test.each` in these files. */
const compiled = (line: string): Suite => vitest('package', 'package', ['service'], `TypeScript ${line}`);
const sent = (line: string): Suite =>
  vitest('package', 'package', ['prisma-clients', 'prisma-8'], `with Prisma ${line.split('.')[0] ?? ''},`);

const clientSuites: Readonly<Record<ClientLine['kind'], readonly Suite[]>> = {
  kafka: [
    vitest('unit', 'unit', ['unit/brokers/kafka']),
    vitest('contract', 'contract', ['contract/kafka', 'contract/sources-kafka']),
    vitest('transports', 'transports-kafka'),
  ],
  undici: [vitest('unit', 'unit', ['unit/brokers/http']), vitest('transports', 'transports-http')],
  opentelemetry: [
    vitest('unit', 'unit', ['unit/telemetry', 'figure-metrics', 'handling-metrics']),
    vitest('integration', 'integration', ['integration/telemetry', 'kafka/trace']),
  ],
};

const clientRows = clients.flatMap(({ kind, name, node, releases }) =>
  releases.map(
    (packages): Row => ({
      kind,
      line: name,
      version: versionOf(packages),
      node,
      packages,
      suites: clientSuites[kind],
    }),
  ),
);

/** All rows, in the order of the table. A choice that names nothing has none. */
export function rows({ only, ci = false }: Choice = {}): readonly Row[] {
  const nodeVersions = nodes.flatMap(({ name, first, newest }) =>
    [first, newest].map((version) => ({ line: name, version, node: version })),
  );
  const ends = nodeVersions.filter((_, n) => n === 0 || n === nodeVersions.length - 1);
  const ofNode = (ci ? ends : nodeVersions).map(
    (one): Row => ({ kind: 'node', ...one, suites: ci ? [unit, demo] : [unit, contract, demo] }),
  );
  const others: readonly Row[] = [
    ...postgres.map(({ name, packageVersion }) => row('postgres', name, packageVersion, sql)),
    ...typescript.map(({ name, version }) => row('typescript', name, version, compiled(name))),
    ...[...prisma, ...candidates].map(({ name, version }) => row('prisma', name, version, sent(name))),
    ...clientRows,
  ];
  const all = ci ? ofNode : [...ofNode, ...others];
  return only === undefined ? all : all.filter((one) => isMeant(one, only));
}

function row(kind: Row['kind'], line: string, version: string, suite: Suite): Row {
  return { kind, line, version, suites: [suite] };
}

/** `node:2` means neither 20 nor 22: a version is named up to one of its dots. */
function isMeant({ kind, line, version }: Row, only: string): boolean {
  const [asked, begins] = only.split(':');
  if (asked !== kind) return false;
  return begins === undefined || line === begins || `${version}.`.startsWith(`${begins}.`);
}
