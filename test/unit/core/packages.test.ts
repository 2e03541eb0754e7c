import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { fits, partPackages, requirePackages } from '../../../src/core/packages.ts';

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional: boolean }>>;
}

const { dependencies, peerDependencies, peerDependenciesMeta } = JSON.parse(
  readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
) as Manifest;

test('every package that a part of the library needs is an optional peer of the version that the command installs', () => {
  // Prisma and zod are the choice of the application: a peer of a range would be in its way.
  const { demo: _demo, ...parts } = partPackages;
  const named = [...new Set(Object.values(parts).flatMap<string>(({ packages }) => packages))];
  // Of OpenTelemetry the application chooses the version, and its exporters have no first one yet.
  const free = /^(?:@(?:prisma|opentelemetry)\/|zod@)/;
  const wanted = named.filter((name) => !free.test(name));
  const peers = Object.entries(peerDependencies).map(
    ([name, range]) => `${name}@${/^>=(\d+)\./.exec(range)?.[1]}`,
  );
  expect(peers.filter((peer) => !free.test(peer)).toSorted()).toEqual(wanted.toSorted());
});

test('no peer has an upper end, which would govern also those who use it for something else', () => {
  const ended = Object.entries(peerDependencies).filter(([, range]) => !/^>=\d+\.\d+\.\d+$/.test(range));
  expect(ended).toEqual([]);
});

test.each([
  ['undici@7', '7.30.2', true],
  ['undici@7', '8.0.0', false],
  ['undici@7', '70.0.0', false],
  ['undici@7', 'next', true],
  ['@opentelemetry/exporter-prometheus@0.223', '0.200.0', true],
  ['@opentelemetry/exporter-prometheus@0.223', '0.299.1', true],
  ['@opentelemetry/exporter-prometheus@0.223', '0.300.0', false],
  ['@opentelemetry/exporter-prometheus@0.223', '1.0.0', false],
])('a part that asks for %s takes %s: %s', (wanted, version, taken) => {
  expect(fits(version, wanted)).toBe(taken);
});

test('every part finds its packages here, with a version that fits', () => {
  for (const part of Object.keys(partPackages)) requirePackages(part as keyof typeof partPackages);
});

test('every command in the documents that installs one of them names the version that works', () => {
  const named = [...Object.values(partPackages).flatMap<string>(({ packages }) => packages), 'prisma@7'];
  const wanted = new Map(named.map((name) => [name.slice(0, name.lastIndexOf('@')), name]));
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
      .filter(
        (word) =>
          wanted.has(word.replace(/(?<=.)@.*$/, '')) && wanted.get(word.replace(/(?<=.)@.*$/, '')) !== word,
      )
      .map((word) => `${page}: ${word}`);
  });
  expect(wrong).toEqual([]);
});

test('no peer is installed by default', () => {
  const names = Object.keys(peerDependencies);
  expect(names.filter((name) => peerDependenciesMeta[name]?.optional !== true)).toEqual([]);
  expect(names.filter((name) => name in dependencies)).toEqual([]);
});
