import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { pinned, supported } from '../../../dev/servers/providers/pinned-versions.ts';
import { compareVersions, inRange, parseVersion } from '../../../dev/servers/providers/version-range.ts';
import { misfitOf, type PackageLines, packageLines } from '../../../src/core/package-lines.ts';
import { tellsFailures } from '../../../src/inbox/handling/failed-operations.ts';
import { rows } from '../../versions/rows.ts';
import {
  askMore,
  candidates,
  clients,
  engines,
  nodes,
  postgres,
  prisma,
  typescript,
  withVersionTable,
} from '../../versions/table.ts';
import { projectRoot } from './project-files.ts';

interface Manifest {
  readonly engines?: { readonly node: string };
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}
const read = (path: string): string => readFileSync(join(projectRoot, path), 'utf8');
const manifest = (folder: string): Manifest => JSON.parse(read(join(folder, 'package.json'))) as Manifest;
const version = (text: string): readonly number[] => parseVersion(text) ?? [];

test('docs/versions.md shows the table of versions', () => {
  const page = read('docs/versions.md');
  expect(page).toContain('| Node | 20.19, 22, 24, 26 |');
  expect(withVersionTable(page)).toBe(page);
});

test('package.json and its lock name the Node releases of the table', () => {
  expect(manifest('.').engines?.node).toBe(engines());
  const lock = JSON.parse(read('package-lock.json')) as { packages: { '': Manifest } };
  expect(lock.packages[''].engines?.node).toBe(engines());
  expect(engines()).toBe('^20.19.0 || ^22.12.0 || ^24.0.0 || >=26.0.0');
});

test('all packages of the lock accept the oldest and the newest Node, but those that the page names', {}, () => {
  const unfit = [nodes[0]?.first, nodes.at(-1)?.newest].map(
    (node) => `:attr(engines, [node]):not(:semver(${node}, :attr(engines, [node])))`,
  );
  const stdout = execFileSync('npm', ['query', '--package-lock-only', unfit.join(', ')], {
    cwd: projectRoot,
    encoding: 'utf8',
  });
  const found = JSON.parse(stdout) as readonly { readonly name: string }[];
  expect(found.map(({ name }) => name).toSorted()).toEqual(askMore);
  const page = read('docs/versions.md');
  expect(askMore.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

test.each(nodes)(
  'the first release of Node $name is of that line, and its newest one is not older',
  (line) => {
    expect(`${line.first}.`.startsWith(`${line.name}.`)).toBe(true);
    expect(compareVersions(version(line.newest), version(line.first))).toBeGreaterThan(0);
    expect(version(line.newest)[0]).toBe(version(line.first)[0]);
  },
);

test('the versions of PostgreSQL are those that a local server may have, and include the pinned one', () => {
  expect(postgres.map(({ name }) => [Number(name)])).toEqual([[15], [16], [17], [18]]);
  const { from, before } = supported.postgres;
  expect(postgres.map(({ name }) => inRange(version(name), { from, before }))).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect([from[0], before[0] - 1].map(String)).toEqual([postgres[0]?.name, postgres.at(-1)?.name]);
  expect(postgres.filter(({ name, packageVersion }) => version(packageVersion)[0] !== Number(name))).toEqual(
    [],
  );
  expect(postgres.map(({ packageVersion }) => packageVersion)).toContain(pinned.postgresPackage);
});

test('the versions of TypeScript and Prisma are those that the projects of test/package install', () => {
  const { devDependencies: service = {} } = manifest('test/package/projects/service');
  expect(typescript.map(({ version: exact }) => exact)).toEqual([
    service['typescript'],
    service['typescript-7']?.replace('npm:typescript@', ''),
  ]);
  expect(prisma.map(({ version: exact }) => exact)).toEqual(
    ['prisma-6', 'prisma-7'].map(
      (name) => manifest(`test/package/projects/${name}`).dependencies?.['@prisma/client'],
    ),
  );
  expect(candidates.map(({ version: exact }) => exact)).toEqual([
    manifest('test/package/projects/prisma-8').dependencies?.['@prisma/orm-postgres'],
  ]);
});

test('each line of an optional package that has several is run from its first release on, by the first Node that it accepts', () => {
  const oldest = nodes[0]?.first ?? '';
  const accepted = Object.entries<PackageLines>(packageLines)
    .filter(([name, { lines }]) => lines.length > 1 && !name.startsWith('@prisma/'))
    .flatMap(([name, { lines }]) => lines.map(({ from, node = oldest }) => `${name}@${from} on ${node}`));
  const run = clients.flatMap(({ releases, node }) =>
    Object.entries(releases[0] ?? {})
      .filter(([name]) => name !== '@opentelemetry/api')
      .map(([name, exact]) => `${name}@${exact} on ${node}`),
  );
  expect(run.toSorted()).toEqual(accepted.toSorted());
  for (const { releases, node, kind, name } of clients)
    for (const [part, exact] of releases.flatMap((release) => Object.entries(release)))
      expect(misfitOf(part as keyof typeof packageLines, exact, node), `${kind} ${name}`).toBeUndefined();
});

test('the newest release of each line is the one that the tests or their neighbors install', () => {
  const { devDependencies = {} } = manifest('.');
  const newest = new Map(rows().map(({ kind, line, version: exact }) => [`${kind} ${line}`, exact]));
  expect(newest.get('kafka 1')).toBe(devDependencies['@platformatic/kafka']);
  expect(newest.get('undici 7')).toBe(devDependencies['undici']);
  const neighbors = read('test/package/newest-peers.test.ts');
  expect(neighbors).toContain(`'@platformatic/kafka': '${newest.get('kafka 2')}'`);
  expect(neighbors).toContain(`undici: '${newest.get('undici 8')}'`);
  expect(neighbors).toContain(`'@opentelemetry/sdk-metrics': '${newest.get('opentelemetry 3')}'`);
});

test('the tested versions of Prisma emit failed operations, and untested ones are not relied on', () => {
  expect(prisma.filter(({ version: exact }) => !tellsFailures(exact))).toEqual([]);
  const [major = 0, minor = 0] = version(prisma.at(-1)?.version ?? '');
  for (const unknown of [`${major}.${minor + 1}.0`, `${major + 1}.0.0`, '6.18.9', '5.22.0', ''])
    expect(tellsFailures(unknown)).toBe(false);
});

test('every suite finds the files and tests that it names', () => {
  const folders = ['contract', 'integration', 'invariants', 'package', 'transports', 'unit'].map(
    (folder) => `test/${folder}`,
  );
  const files = folders.flatMap((folder) =>
    readdirSync(join(projectRoot, folder), { recursive: true, encoding: 'utf8' }).map(
      (file) => `${folder}/${file}`,
    ),
  );
  const named = rows().flatMap(({ suites }) => suites.flatMap((suite) => suite.files ?? []));
  expect(named.length).toBeGreaterThan(10);
  expect([...new Set(named)].filter((part) => !files.some((file) => file.includes(part)))).toEqual([]);
  // A title that fits no test would pass.
  const compiling = read('test/package/service.test.ts');
  expect(compiling).toContain('with TypeScript $version');
  for (const { name } of typescript) expect(compiling).toContain(`version: '${name}'`);
  const sending = read('test/package/prisma-clients.test.ts');
  expect(sending).toContain('with Prisma $version,');
  for (const { name } of prisma) expect(sending).toContain(`version: ${name.split('.')[0]},`);
  for (const { name } of candidates)
    expect(read(`test/package/prisma-${name}.test.ts`)).toContain(`with Prisma ${name},`);
});

test.each([
  ['node', nodes.length * 2],
  ['node:20.19', 2],
  ['node:22.12', 1],
  ['node:2', 0],
  ['postgres:15', 1],
  ['prisma', 3],
  ['prisma:8', 1],
  ['kafka', 3],
  ['kafka:2', 2],
  ['undici:8', 2],
  ['opentelemetry:3.1', 1],
  ['perl', 0],
])('`--only %s` chooses %i versions', (only, count) => {
  expect(rows({ only })).toHaveLength(count);
});

test('CI runs the oldest and the newest Node', () => {
  expect(rows({ ci: true }).map(({ version: exact }) => exact)).toEqual([
    nodes[0]?.first,
    nodes.at(-1)?.newest,
  ]);
});
