import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { configNames } from '../../../src/config/config.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** A configuration that a page shows, as a reader would write it to a file. */
export interface DocumentedConfig {
  /** Page and line. */
  readonly place: string;
  readonly text: string;
}

/** What examples leave to the reader, by name. */
const assumed: Readonly<Record<string, string>> = {
  Deduct: 'const Deduct = z.object({});',
  Order: 'const Order = z.object({});',
  ca: `const ca = '';`,
  persons: `const persons = topic('persons', z.object({}));`,
  signer: `const signer = { getAuthToken: async () => '' };`,
};

/** What a shortened example has besides. */
const topics = (transport: string) =>
  `topics: [topic('orders', z.object({}), { transport: '${transport}' })],`;
const rest = `${topics('printed')} transports: { printed: print() },`;

/** Every configuration of README and the pages of `docs`, and every part of one. */
export async function documentedConfigs(): Promise<readonly DocumentedConfig[]> {
  const pages = (await readdir(path.join(root, 'docs'), { recursive: true }))
    .filter((page) => page.endsWith('.md') && !page.startsWith('internal'))
    .map((page) => `docs/${page}`)
    .toSorted();
  const found = await Promise.all(['README.md', ...pages].map(configsOf));
  return found.flat();
}

async function configsOf(page: string): Promise<readonly DocumentedConfig[]> {
  const markdown = await readFile(path.join(root, page), 'utf8');
  return [...markdown.matchAll(/^```ts\n(?<code>.*?)^```$/gms)].flatMap(({ groups, index }) => {
    const text = completed(groups?.['code'] ?? '');
    return text === undefined
      ? []
      : [{ place: `${page}:${markdown.slice(0, index).split('\n').length}`, text }];
  });
}

const part = new RegExp(`^(?:${configNames.join('|')}): [^]*`, 'm');

/** `undefined`: it is something else. */
function completed(code: string): string | undefined {
  const whole = /^export default defineConfig\(/m.test(code) && !code.includes(`'prisma/config'`);
  const [setting = ''] = whole ? [] : (part.exec(code) ?? []);
  if (!whole && setting === '') return undefined;
  const transport = /^transports: \{\s+(?<name>\w+):/.exec(setting)?.groups?.['name'];
  const others = transport === undefined ? rest : topics(transport);
  const body = whole
    ? code.replace(/^ {2}\/\/ ….*\n/m, `  ${rest}\n`)
    : code.replace(part, `export default defineConfig({ ${others}\n${setting.trimEnd()}\n});\n`);
  return [...importsFor(body), ...assumedBy(body), body].join('\n');
}

function assumedBy(body: string): readonly string[] {
  return Object.entries(assumed).flatMap(([name, line]) =>
    new RegExp(`(?<![\\w'])${name}\\b(?! =)`).test(body) ? [line] : [],
  );
}

/** Short examples leave them out, because the ones before them have them. */
function importsFor(body: string): readonly string[] {
  const from: readonly (readonly [string, readonly string[]])[] = [
    ['temporal-outbox', ['defineConfig', 'env', 'send', 'topic']],
    ['temporal-outbox/transports', ['print']],
    ['node:fs', ['readFileSync']],
    ['zod', ['z']],
  ];
  const imported = new Set(
    [...body.matchAll(/^import \{(?<names>[^}]*)\}/gm)].flatMap(({ groups }) =>
      (groups?.['names'] ?? '').split(',').map((name) => name.trim()),
    ),
  );
  return from.flatMap(([module, names]) => {
    const missing = names.filter((name) => !imported.has(name));
    return missing.length === 0 ? [] : [`import { ${missing.join(', ')} } from '${module}';`];
  });
}

/** Writes a configuration into a folder in which the package is installed, next to its topics; it ends with the test. */
export async function installedConfig(
  context: { readonly onTestFinished: (work: () => Promise<void>) => void },
  text: string,
): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'outbox-documented-'));
  context.onTestFinished(() => rm(folder, { recursive: true }));
  const modules = path.join(folder, 'node_modules');
  await mkdir(modules);
  await symlink(root, path.join(modules, 'temporal-outbox'));
  await symlink(path.join(root, 'node_modules/zod'), path.join(modules, 'zod'));
  const imported = ['orderPlaced', 'orderTimeout'].map(
    (name) => `export const ${name} = topic('${name}', z.object({}));\n`,
  );
  await writeFile(
    path.join(folder, 'topics.ts'),
    `import { topic } from 'temporal-outbox';\nimport { z } from 'zod';\n${imported.join('')}`,
  );
  const file = path.join(folder, 'outbox.config.ts');
  await writeFile(file, text);
  return file;
}
