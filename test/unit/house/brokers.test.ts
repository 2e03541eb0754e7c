// @module-tag apart
import { posix } from 'node:path';
import { expect, test } from 'vitest';
import { typeErrors } from './compiled-overlay.ts';
import { lintAsProject } from './lint-fixtures.ts';
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
  http: ['src/http.ts', 'src/inbox/http/', 'src/alerts/'],
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

/** The folder of a broker that somebody adds: a folder of files, one line a message. */
const added: Readonly<Record<string, string>> = {
  'src/brokers/spool/client/folder.ts': `import { requirePackages } from '../../../core/packages.ts';

/** Where the files are. */
export interface Folder {
  readonly path: string;
}

export function folderAt(path: string): Folder {
  requirePackages('spool');
  return { path };
}
`,
  'src/brokers/spool/source/spool-source.ts': `import type { Source } from '../../source.ts';
import type { Folder } from '../client/folder.ts';

export function spoolSource(folder: Folder): Source {
  return {
    name: 'spool',
    redeliveryPeriodMs: async () => Infinity,
    subscribe: () => Promise.reject(new Error(folder.path)),
  };
}
`,
  'src/brokers/spool/transport/spool-transport.ts': `import type { ReceivingTransport } from '../../receiving-transport.ts';
import { sendByKey } from '../../send-by-key.ts';
import { folderAt } from '../client/folder.ts';
import { spoolSource } from '../source/spool-source.ts';

/** Appends messages to files. */
export function spool(path: string): ReceivingTransport {
  const folder = folderAt(path);
  return {
    name: 'spool',
    endpoint: folder.path,
    publish: (batch) => sendByKey(batch, 1, async () => ({ kind: 'acknowledged', partition: null, offset: null })),
    probe: async () => undefined,
    source: () => spoolSource(folder),
    topics: { missing: async () => [], create: async () => false },
    durability: async () => [{ check: 'spool', state: 'ok', message: 'Lines are synced.', next: null }],
    close: async () => undefined,
  };
}
`,
};

interface Edit {
  readonly after: string;
  readonly line: string;
}

/** What has to be changed besides: its export, and the package that it brings with its versions. */
const changed: Readonly<Record<string, Edit & { readonly also?: Edit }>> = {
  'src/transports.ts': {
    after: "export { rocketmq } from './brokers/rocketmq/transport/rocketmq-transport.ts';\n",
    line: "export { spool } from './brokers/spool/transport/spool-transport.ts';\n",
  },
  'src/core/package-lines.ts': {
    after: "  'rocketmq-client-nodejs': only(major(1, '1.0.8')),\n",
    line: "  'fs-extra': only(major(11)),\n",
    also: {
      after: "  rocketmq: { for: 'RocketMQ', packages: ['rocketmq-client-nodejs'] },\n",
      line: "  spool: { for: 'A spool', packages: ['fs-extra'] },\n",
    },
  },
};

test('a new broker is one folder, one export, one package and its versions', async () => {
  const edits = Object.entries(changed).map(([path, { also, ...first }]) => {
    let text = textOf(path) ?? '';
    for (const { after, line } of also === undefined ? [first] : [first, also]) {
      expect(text).toContain(after);
      text = text.replace(after, after + line);
    }
    return [path, text] as const;
  });
  const overlay = new Map([...Object.entries(added), ...edits]);
  const use = `import { spool } from '../transports.ts';
import type { Config } from './config.ts';

export const config: Config = { topics: [], transports: { spool: spool('/var/spool') } };
`;

  expect(await typeErrors(new Map([...overlay, ['src/config/uses-spool.ts', use]]))).toBe('');
  expect(await typeErrors(new Map([['src/config/uses-spool.ts', use]]))).toContain('spool');
  const findings = await lintAsProject(overlay);
  expect(findings.filter(({ rule }) => rule.includes('no-restricted'))).toEqual([]);
}, 60_000);
