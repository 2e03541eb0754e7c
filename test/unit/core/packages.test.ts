import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  misfitOf,
  type OptionalPackage,
  type PackageLines,
  packageLines,
  partPackages,
} from '../../../src/core/package-lines.ts';
import { requirePackages } from '../../../src/core/packages.ts';

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional: boolean }>>;
}

const { dependencies, devDependencies, peerDependencies, peerDependenciesMeta } = JSON.parse(
  readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
) as Manifest;

test('every package that a part of the library needs is an optional peer, and has supported versions', () => {
  const { demo: _demo, ...parts } = partPackages;
  const named = [...new Set(Object.values(parts).flatMap<string>(({ packages }) => packages))];
  // What schemas are made of is the choice of the application, and so is its Prisma, which nothing here loads.
  const peers = Object.keys(peerDependencies).filter((name) => name !== '@prisma/client');
  expect(peers.toSorted()).toEqual(named.filter((name) => name !== 'zod').toSorted());
});

test('the range of an optional package refuses nobody who has another version and does not use it', () => {
  expect(Object.entries(peerDependencies).filter(([, range]) => range !== '*')).toEqual([]);
});

test('what is installed for the tests, and what the error names, are of supported versions', () => {
  for (const [name, { installs, lines }] of Object.entries<PackageLines>(packageLines)) {
    if (!isOptional(name)) continue;
    expect(misfitOf(name, devDependencies[name] ?? '', '20.19.0'), name).toBeUndefined();
    expect(`${devDependencies[name]}.`, name).toMatch(new RegExp(`^${installs.replace('.', '\\.')}\\.`));
    // Which runs on every supported Node.
    expect(
      lines.find((line) => line.node === undefined),
      name,
    ).toBeDefined();
  }
});

test.each([
  ['undici', '6.21.3', '24.0.0', 'undici 6.21.3 is not supported, but 7 (from 7.5.0) or 8 (from 8.0.0)'],
  ['undici', '9.0.0', '24.0.0', 'undici 9.0.0 is not supported, but 7 (from 7.5.0) or 8 (from 8.0.0)'],
  ['undici', '8.13.1', '20.20.2', 'undici 8.13.1 needs Node 22.19.0 or later, and this is 20.20.2'],
  ['undici', '8.13.1', '22.19.0', undefined],
  ['undici', '7.30.2', '20.19.0', undefined],
  ['@platformatic/kafka', '1.34.9', '24.0.0', expect.stringContaining('1 (from 1.35.0)')],
  ['@opentelemetry/exporter-prometheus', '0.301.0', '22.15.0', undefined],
  ['@opentelemetry/exporter-prometheus', '0.57.2', '22.15.0', expect.stringContaining('0.2xx')],
  ['hono', '4.13.0-rc.1', '20.19.0', undefined],
] as const)('%s %s on Node %s: %s', (name, version, node, why) => {
  expect(misfitOf(name, version, node)).toEqual(why);
});

test('every part finds its packages here, of versions that are supported', () => {
  for (const part of Object.keys(partPackages)) requirePackages(part as keyof typeof partPackages);
});

test('every command in the documents that installs a package names a version, of these the one that works', () => {
  const wanted = new Map([
    ...Object.entries(packageLines).map(([name, { installs }]) => [name, `${name}@${installs}`] as const),
    ['prisma', 'prisma@7'] as const,
  ]);
  const root = new URL('../../../', import.meta.url);
  const pages = readdirSync(new URL('docs', root), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => `docs/${path}`);
  const wrong = ['README.md', ...pages].flatMap((page) => {
    const text = readFileSync(new URL(page, root), 'utf8');
    // Up to the end of its line, or of its code where that is within a text.
    const commands =
      text.match(/(?<=`)(?:npm install|npm i)\b[^`]*(?=`)|^(?:npm install|npm i)\b[^#\n]*/gm) ?? [];
    return commands
      .flatMap((command) => command.split(/\s+/))
      .filter((word) => !/^(?:npm|install|i|-.*|temporal-outbox|)$/.test(word))
      .filter((word) => {
        const right = wanted.get(word.replace(/(?<=.)@.*$/, ''));
        return right === undefined ? !/.@\d/.test(word) : right !== word;
      })
      .map((word) => `${page}: ${word}`);
  });
  expect(wrong).toEqual([]);
});

test('no peer is installed by default', () => {
  const names = Object.keys(peerDependencies);
  expect(names.filter((name) => peerDependenciesMeta[name]?.optional !== true)).toEqual([]);
  expect(names.filter((name) => name in dependencies)).toEqual([]);
});

function isOptional(name: string): name is OptionalPackage {
  return name in packageLines;
}
