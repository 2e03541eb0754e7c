import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { expect, test } from 'vitest';
import { projectFiles, projectRoot } from './project-files.ts';

const files = projectFiles().filter((file) =>
  /^(?:bench|bin|dev|src|workflows|activities)\/.+\.ts$/.test(file),
);

/** The files of the project that a file imports, at its start or later, types included. */
function importsOf(file: string): readonly string[] {
  const imports = readFileSync(`${projectRoot}/${file}`, 'utf8').matchAll(
    /(?: from |\bimport\()'(\.[^']+)'/g,
  );
  return Array.from(imports, ([, path]) => posix.join(posix.dirname(file), path ?? ''));
}

/** The first way found that leads from a file back to it, for each file that is on one. */
function circles(graph: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const walk = (file: string, way: readonly string[]): void => {
    const at = way.indexOf(file);
    if (at >= 0) found.push([...way.slice(at), file].join(' → '));
    if (at >= 0 || done.has(file)) return;
    for (const next of graph.get(file) ?? []) walk(next, [...way, file]);
    done.add(file);
  };
  for (const file of graph.keys()) walk(file, []);
  return found;
}

test('no two files import each other, directly or through others', () => {
  expect(
    circles(
      new Map([
        ['a', ['b']],
        ['b', ['c']],
        ['c', ['b']],
      ]),
    ),
  ).toEqual(['b → c → b']);
  expect(files.length).toBeGreaterThan(300);
  expect(circles(new Map(files.map((file) => [file, importsOf(file)])))).toEqual([]);
});

/** Where a file lives: a folder of src, or of the project. */
function roomOf(file: string): string {
  const [first = '', second = '', third] = file.split('/');
  if (first !== 'src') return first;
  return third === undefined ? file : `${first}/${second}`;
}

test('no two folders import each other, directly or through others', () => {
  const rooms = new Map<string, Set<string>>();
  for (const file of files) {
    const room = roomOf(file);
    const reached = rooms.get(room) ?? new Set();
    for (const path of importsOf(file)) reached.add(roomOf(path));
    reached.delete(room);
    rooms.set(room, reached);
  }
  expect(rooms.size).toBeGreaterThan(20);
  expect(circles(new Map([...rooms].map(([room, reached]) => [room, [...reached]])))).toEqual([]);
});
