import { expect, test } from 'vitest';
import { layers } from '../../../tools/lint/layers.mjs';
import { projectFiles, textOf } from './project-files.ts';

const files = projectFiles().flatMap((path) => {
  const text = textOf(path);
  return text === undefined ? [] : [{ path, text }];
});
const code = files.filter(({ path }) => /\.(?:ts|mts|mjs)$/.test(path));
const source = code.filter(({ path }) => /^(?:bin|dev|src|workflows|activities)\//.test(path));

/** Lines of the files that match, as `path:line: text`. */
function linesMatching(among: typeof files, pattern: RegExp): readonly string[] {
  return among.flatMap(({ path, text }) =>
    text
      .split('\n')
      .flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [])),
  );
}

/** The code of a file: comments are ignored. */
function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|\s)\/\/.*$/gm, '$1');
}

test('the project has files to check', () => {
  expect(source.length).toBeGreaterThan(20);
  expect(files.map(({ path }) => path)).toContain('package.json');
});

test('no file names a folder of one machine: temporary folders come from the system', () => {
  // The home folders of Ada, who does not exist, represent those of users in tests.
  const homes = ['work', 'tmp', 'home/(?!ada\\b)\\w+', 'Users/(?!ada\\b)\\w+'].join('|');
  expect(linesMatching(files, new RegExp(`(?:^|[\\s'"\`(=:])/(?:${homes})(?:/|\\b(?![-.\\w]))`))).toEqual([]);
});

test('no file names the host of a package registry, so that every mirror works', () => {
  const hosts = ['registry.npmjs', 'npmmirror', 'repo1.maven', 'repo.maven', 'proxy.golang'].map((name) =>
    name.replace('.', '\\.'),
  );
  const elsewhere = files.filter(({ path }) => path !== 'test/unit/house/project-files.test.ts');
  expect(linesMatching(elsewhere, new RegExp(hosts.join('|')))).toEqual([]);
});

test('no file of code is longer than 300 lines', () => {
  const long = code.map(({ path, text }) => ({ path, lines: text.trimEnd().split('\n').length }));
  expect(long.filter(({ lines }) => lines > 300)).toEqual([]);
});

test('no file has a meaningless name', () => {
  const empty = /(?:^|[/.-])(?:utils?|helpers?|common|manager|misc|lib)(?=[/.-])/;
  expect(code.map(({ path }) => path).filter((path) => empty.test(path))).toEqual([]);
});

test('every source file belongs to a layer with import directions, at a depth that they cover', () => {
  const isCovered = (folder: string) =>
    folder === 'src' ||
    folder === 'workflows' ||
    layers.some((layer) => {
      const parent = layer.depth === 2 ? folder.slice(0, folder.lastIndexOf('/')) : folder;
      const covered = new RegExp(`^${layer.folder.replace('*', '[^/]+')}$`);
      return covered.test(folder) || covered.test(parent);
    });
  const folders = new Set(source.map(({ path }) => path.slice(0, path.lastIndexOf('/'))));
  expect([...folders].filter((folder) => !isCovered(folder))).toEqual([]);
});

test('an entry point consists of explicit re-exports', () => {
  const entries = source.filter(({ path }) => /^src\/[^/]+\.ts$|^workflows\/index\.ts$/.test(path));
  const other = entries.filter(({ text }) => {
    const rest = withoutComments(text).replaceAll(/export (?:type )?\{[^}]*\} from '[^']+';/g, '');
    return rest.trim() !== '';
  });
  expect(other.map(({ path }) => path)).toEqual([]);
});

test('no module re-exports everything of another', () => {
  expect(linesMatching(code, /^export \* /)).toEqual([]);
});

test('SQL of the product is in src/store only', () => {
  const statement =
    /[`'"]\s*(?:select\b[^`]*\bfrom\b|select\s+\w+\.|with\s+\w+\s+as\b|insert\s+into\b|update\s+[\w."]+\s+set\b|delete\s+from\b|(?:create|alter|drop)\s+(?:table|index|function|schema)\b|notify\s|listen\s|begin\b[`'"])/i;
  // The demo has a shop of its own, and dev/servers makes databases before there is a product.
  const elsewhere = source.filter(({ path }) => !/^(?:src\/store|dev\/(?:demo|servers))\//.test(path));
  expect(
    elsewhere.filter(({ text }) => statement.test(withoutComments(text))).map(({ path }) => path),
  ).toEqual([]);
  expect(source.some(({ path, text }) => path.startsWith('src/store/') && statement.test(text))).toBe(true);
});

test('every suppression of a check gives its reason on the same line', () => {
  const silencers =
    /(?:oxlint|eslint)-disable(?!.* -- \S)|@ts-(?:ignore|nocheck)\b|@ts-expect-error\s*$|biome-ignore\b(?!.*: \S)/;
  const elsewhere = code.filter(({ path }) => !/^(?:test\/unit\/house\/|oxlint\.config)/.test(path));
  expect(linesMatching(elsewhere, silencers)).toEqual([]);
});

test('no test is skipped, focused or postponed', () => {
  const tests = code.filter(({ path }) => path.startsWith('test/') && !path.startsWith('test/unit/house/'));
  expect(linesMatching(tests, /\b(?:test|it|describe)\.(?:skip|skipIf|runIf|only|todo|fails)\b/)).toEqual([]);
});

test('the lock has the packages of all platforms, without which `npm ci` refuses', () => {
  const text = files.find(({ path }) => path === 'package-lock.json')?.text ?? '{}';
  const { packages = {} } = JSON.parse(text) as {
    packages?: Record<string, { optionalDependencies?: object }>;
  };
  const known = new Set(
    Object.keys(packages).map((path) => path.slice(path.lastIndexOf('node_modules/') + 13)),
  );
  const asked = Object.values(packages).flatMap((one) => Object.keys(one.optionalDependencies ?? {}));

  expect(asked.length).toBeGreaterThan(0);
  expect(asked.filter((name) => !known.has(name))).toEqual([]);
});
