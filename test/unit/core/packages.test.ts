import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { partPackages } from '../../../src/core/packages.ts';

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
    ([name, range]) => `${name}@${/^\^(\d+)\./.exec(range)?.[1]}`,
  );
  expect(peers.filter((peer) => !free.test(peer)).toSorted()).toEqual(wanted.toSorted());
});

test('no peer is installed by default', () => {
  const names = Object.keys(peerDependencies);
  expect(names.filter((name) => peerDependenciesMeta[name]?.optional !== true)).toEqual([]);
  expect(names.filter((name) => name in dependencies)).toEqual([]);
});
