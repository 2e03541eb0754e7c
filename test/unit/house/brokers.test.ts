import { posix } from 'node:path';
import { expect, test } from 'vitest';
import { projectFiles, textOf } from './project-files.ts';

const sources = projectFiles().filter((path) => /^src\/.*\.ts$/.test(path));
const brokers = [
  ...new Set(sources.flatMap((path) => /^src\/brokers\/(?<name>\w+)\//.exec(path)?.groups?.['name'] ?? [])),
];

/** What a file imports, as paths from the root. */
function importsOf(path: string): readonly string[] {
  const specifiers = (textOf(path) ?? '').matchAll(/(?:from|import\()\s*'(?<to>\.[^']+)'/g);
  return [...specifiers].map(({ groups }) => posix.join(posix.dirname(path), groups?.['to'] ?? ''));
}

/** What may import from a broker's folder besides its export: files whose work is about this broker. */
const importers: Readonly<Record<string, readonly string[]>> = {
  http: ['src/http.ts', 'src/inbox/http/', 'src/watch/'],
  memory: ['src/testing.ts', 'src/testing/'],
  redis: ['src/redis.ts'],
  workflow: ['src/app/', 'src/config/', 'src/temporal/'],
};

test('a broker’s folder is imported only by its export and the listed users', () => {
  const found = brokers.map((name) => {
    const folder = `src/brokers/${name}/`;
    const outside = sources.filter((path) => !path.startsWith(folder));
    const users = outside.filter((path) => importsOf(path).some((to) => to.startsWith(folder)));
    const allowed = ['src/transports.ts', ...(importers[name] ?? [])];
    return [name, users.filter((path) => !allowed.some((one) => path.startsWith(one)))];
  });
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(brokers.map((name) => [name, []])));
});

test('nothing outside of a broker compares with the name of its transport', () => {
  const names = brokers.filter((name) => name !== 'memory' && name !== 'workflow').join('|');
  const compares = new RegExp(`(?:===|!==|case|includes\\(|test\\()\\s*['"\`/^]+(?:redis-)?(?:${names})\\b`);
  const asking = sources.filter(
    (path) => !path.startsWith('src/brokers/') && compares.test(textOf(path) ?? ''),
  );
  expect(asking).toEqual([]);
});

test('the name of any broker, such as RocketMQ, is in at most three files of the library outside its folder', () => {
  const named = sources.filter(
    (path) => !/^src\/(?:brokers\/rocketmq|cli)\//.test(path) && /rocketmq/i.test(textOf(path) ?? ''),
  );
  expect(named).toEqual(['src/core/errors.ts', 'src/core/package-lines.ts', 'src/transports.ts']);
});
