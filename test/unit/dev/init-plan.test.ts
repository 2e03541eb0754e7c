import { describe, expect, test } from 'vitest';
import type { ReadFolder } from '../../../dev/init/folder.ts';
import { type InitPlan, planInit } from '../../../dev/init/plan.ts';
import { type Project, projectIn } from '../../../dev/init/project.ts';
import { constantOf } from '../../../dev/init/written-files.ts';

type Files = Readonly<Record<string, string>>;

/** A folder in memory. A path that begins with `../` is outside of the project. */
const folderOf = (files: Files): ReadFolder => ({
  text: (file) => files[file],
  names: (folder) => {
    const prefix = folder === '.' ? '' : `${folder.replace(/\/$/, '')}/`;
    return Object.keys(files).flatMap((file) =>
      file.startsWith(prefix) ? (file.slice(prefix.length).split('/')[0] ?? []) : [],
    );
  },
});
const manifest = (...parts: readonly object[]): Files => ({
  'package.json': JSON.stringify(Object.assign({ name: '@acme/shop' }, ...parts)),
});
const found = (files: Files): Project => projectIn(folderOf(files), 'folder');
const planned = (files: Files, topic = 'user-registered'): InitPlan =>
  planInit(folderOf(files), found(files), topic);
const textOf = (plan: InitPlan, end: string): string =>
  plan.files.find(({ path }) => path.endsWith(end))?.text ?? '';

const prisma7 = { dependencies: { '@prisma/client': '^7.1.0' } };
const pg = { dependencies: { pg: '^8.0.0' } };
const schema = (generator: string, datasource = 'provider = "postgresql"') =>
  `// output = "wrong"\ngenerator client {\n${generator}\n}\ndatasource db {\n${datasource}\n}\n`;
const generated = schema('provider = "prisma-client"\noutput = "../src/generated/prisma"');
const tsconfig = (options: object = {}) => ({
  'tsconfig.json': JSON.stringify({ compilerOptions: options }),
});

test.each<readonly [string, Files, object]>([
  ['npm', { ...manifest(pg), 'package-lock.json': '{}' }, { packageManager: 'npm' }],
  ['no lock file', manifest(pg), { packageManager: 'npm' }],
  ['pnpm', { ...manifest(pg), 'pnpm-lock.yaml': '' }, { packageManager: 'pnpm' }],
  ['yarn', { ...manifest(pg), 'yarn.lock': '' }, { packageManager: 'yarn' }],
  ['bun', { ...manifest(pg), 'bun.lock': '' }, { packageManager: 'bun' }],
  [
    'the enclosing pnpm workspace',
    { ...manifest(pg), '../../pnpm-lock.yaml': '' },
    { packageManager: 'pnpm' },
  ],
  [
    'the field before the lock file',
    { ...manifest(pg, { packageManager: 'yarn@4.1.0' }), 'package-lock.json': '{}' },
    { packageManager: 'yarn' },
  ],
  ['TypeScript by its configuration', { ...manifest(pg), ...tsconfig() }, { language: 'typescript' }],
  [
    'TypeScript by its package',
    manifest(pg, { devDependencies: { typescript: '^7.0.0' } }),
    { language: 'typescript' },
  ],
  ['JavaScript', manifest(pg), { language: 'javascript', modules: 'commonjs', importEnding: '.js' }],
  ['ES modules', manifest(pg, { type: 'module' }), { modules: 'esm', importEnding: '.js' }],
  ['CommonJS of TypeScript', { ...manifest(pg), ...tsconfig() }, { modules: 'commonjs', importEnding: '' }],
  [
    'extensions that the compiler rewrites',
    { ...manifest(pg), ...tsconfig({ rewriteRelativeImportExtensions: true }) },
    { importEnding: '.ts' },
  ],
  ['a folder of sources', { ...manifest(pg), 'src/main.ts': '' }, { sources: 'src', name: 'shop' }],
  ['no sources yet', { ...manifest(pg), 'prisma.config.ts': '', '.mocharc.cjs': '' }, { sources: 'src' }],
  ['sources beside package.json', { ...manifest(pg), 'main.js': '', ...tsconfig() }, { sources: '' }],
  [
    'the folder that the compiler reads',
    { ...manifest(pg), 'gulpfile.js': '', ...tsconfig({ rootDir: './src' }) },
    { sources: 'src' },
  ],
  ['a file of variables', { ...manifest(pg), '.env': '' }, { dotenv: true }],
  ['pg', manifest(pg), { database: { kind: 'pg' }, urlVariable: 'DATABASE_URL' }],
])('init finds %s', (_, files, expected) => {
  expect(found(files)).toMatchObject(expected);
});

test.each<readonly [string, Files, object]>([
  [
    'its own client',
    { ...manifest(prisma7), 'prisma/schema.prisma': generated },
    { client: 'src/generated/prisma/client', generates: 'typescript', adapter: true, major: '7' },
  ],
  [
    'the client in node_modules',
    { ...manifest(prisma7), 'prisma/schema.prisma': schema('provider = "prisma-client-js"') },
    { client: undefined, generates: 'javascript', adapter: true },
  ],
  [
    'the schema that its configuration names',
    {
      ...manifest(prisma7),
      'prisma.config.ts': `export default defineConfig({ schema: path.join('db', 'main.prisma') })`,
      'db/main.prisma': schema('provider = "prisma-client"\noutput = "./made"'),
      'prisma/schema.prisma': generated,
    },
    { client: 'db/made/client' },
  ],
  [
    'a schema of several files',
    {
      ...manifest(prisma7, { prisma: { schema: './prisma' } }),
      'prisma/models.prisma': 'model User { id String @id }',
      'prisma/main.prisma': schema('provider = "prisma-client"\noutput = "../made"'),
    },
    { client: 'made/client' },
  ],
  [
    'version 6 with an engine of its own',
    {
      ...manifest({ dependencies: { '@prisma/client': '6.19.0' } }),
      'prisma/schema.prisma': schema('provider = "prisma-client-js"\noutput = "../made"'),
    },
    { client: 'made', generates: 'javascript', adapter: false, major: '6' },
  ],
])('init finds Prisma with %s', (_, files, expected) => {
  expect(found(files).database).toEqual(expect.objectContaining({ kind: 'prisma', ...expected }));
});

test.each([
  ['the schema', { 'prisma/schema.prisma': schema('', 'provider = "postgresql"\nurl = env("SHOP_URL")') }],
  [
    'the configuration',
    {
      'prisma/schema.prisma': generated,
      'prisma.config.ts': `// env('NO')\nexport default defineConfig({ datasource: { url: env<Env>('SHOP_URL') } })`,
    },
  ],
  [
    'the configuration, from the process',
    { 'prisma.config.mjs': `export default { datasource: { url: process.env.SHOP_URL } }` },
  ],
])('init finds the variable of the database in %s', (_, files) => {
  expect(found({ ...manifest(prisma7), ...files }).urlVariable).toBe('SHOP_URL');
});

test.each<readonly [string, Files, string]>([
  ['no package.json', {}, 'no package.json'],
  ['a package.json that cannot be read', { 'package.json': '{' }, 'not JSON'],
  ['neither Prisma nor pg', manifest(), 'neither @prisma/client nor pg'],
  [
    'Prisma 8, whose package is another one',
    manifest({ dependencies: { '@prisma/orm-postgres': '8.0.0-rc.13' } }),
    'prisma8(db)',
  ],
  [
    'Prisma 8, of which it has the command alone',
    manifest({ devDependencies: { prisma: '^8.0.0-rc.19' } }),
    'prisma8(db)',
  ],
  [
    'Prisma for another database',
    { ...manifest(prisma7), 'prisma/schema.prisma': schema('', 'provider = "mysql"') },
    'mysql',
  ],
])('init refuses a project with %s', (_, files, reason) => {
  expect(() => found(files)).toThrow(
    expect.objectContaining({ code: 'OUTBOX_PROJECT_UNFIT', message: expect.stringContaining(reason) }),
  );
});

test('init uses pg beside Prisma 8', () => {
  const both = manifest({ dependencies: { '@prisma/orm-postgres': '8.0.0-rc.13', prisma: '8', pg: '8' } });

  expect(found(both).database).toEqual({ kind: 'pg' });
});

test('init uses pg where Prisma is for another database', () => {
  const both = manifest({ dependencies: { '@prisma/client': '7', pg: '8' } });
  const files = { ...both, 'prisma/schema.prisma': schema('', 'provider = "sqlite"') };

  expect(found(files).database).toEqual({ kind: 'pg' });
});

describe('the files of init', () => {
  test('import each other by the extension that the project uses, and its client by its path', () => {
    const files = { ...manifest(prisma7, { type: 'module' }), ...tsconfig(), 'src/main.ts': '' };
    const plan = planned({ ...files, 'prisma/schema.prisma': generated });

    expect(plan.files.map(({ path }) => path)).toEqual([
      'src/topics.ts',
      'src/outbox.config.ts',
      'src/consume.ts',
    ]);
    expect(textOf(plan, 'consume.ts')).toContain(`from './generated/prisma/client.js'`);
    expect(textOf(plan, 'consume.ts')).toContain(`from './topics.js'`);
    expect(textOf(plan, 'consume.ts')).toContain(`group: 'shop'`);
    expect(textOf(plan, 'outbox.config.ts')).not.toContain('loadEnvFile');
  });

  test('import TypeScript of CommonJS without an ending', () => {
    const files = { ...manifest(prisma7), ...tsconfig(), 'src/main.ts': '' };
    const made = schema('provider = "prisma-client"\noutput = "../generated"');
    const plan = planned({ ...files, 'prisma/schema.prisma': made });

    expect(textOf(plan, 'consume.ts')).toContain(`from '../generated/client'`);
    expect(textOf(plan, 'outbox.config.ts')).toContain(`from './topics'`);
  });

  test('of CommonJS in JavaScript use require and pass a pool to the consumer', () => {
    const plan = planned({ ...manifest(pg), '.env': '', 'main.js': '' });

    expect(plan.files.map(({ path }) => path)).toEqual(['topics.js', 'outbox.config.js', 'consume.js']);
    for (const { text } of plan.files) expect(text).not.toMatch(/^(?:import|export) /m);
    expect(textOf(plan, 'topics.js')).toContain('exports.userRegistered = topic(');
    expect(textOf(plan, 'outbox.config.js')).toContain('module.exports = defineConfig({');
    expect(textOf(plan, 'outbox.config.js')).toContain('process.loadEnvFile()');
    expect(textOf(plan, 'consume.js')).toContain('consumer(clientOf(pool), {');
  });

  test('of JavaScript with a client in TypeScript import that file as it is and run with tsx', () => {
    const plan = planned({ ...manifest(prisma7, { type: 'module' }), 'prisma/schema.prisma': generated });

    expect(textOf(plan, 'consume.js')).toContain(`from './generated/prisma/client.ts'`);
    expect(plan.scripts).toContainEqual({ name: 'outbox:consume', command: 'tsx src/consume.js' });
  });

  test('omit the adapter where Prisma 6 has an engine of its own', () => {
    const files = manifest({ dependencies: { '@prisma/client': '^6.19.0' } });
    const plan = planned({ ...files, 'schema.prisma': schema('provider = "prisma-client-js"') });

    expect(textOf(plan, 'consume.js')).toContain('new PrismaClient();');
    expect(textOf(plan, 'consume.js')).toContain(`require('@prisma/client')`);
    expect(plan.install.join(' ')).not.toContain('adapter-pg');
  });

  test('that exist are named, and so are scripts', () => {
    const files = manifest(pg, { scripts: { 'outbox:relay': 'own', start: 'node .' } });
    const plan = planned({ ...files, 'topics.js': 'mine' });

    expect(plan.files.map(({ exists }) => exists)).toEqual([true, false, false]);
    expect(plan.scripts).toContainEqual({
      name: 'outbox:relay',
      command: 'temporal-outbox relay',
      existing: 'own',
    });
  });
});

test('init names the commands that install what package.json lacks, for the package manager', () => {
  const files = { ...manifest(prisma7), ...tsconfig(), 'yarn.lock': '', 'prisma/schema.prisma': generated };
  const { install, next } = planned(files);

  expect(install).toEqual([
    'yarn add temporal-outbox @temporalio/activity@1 @temporalio/client@1 @temporalio/worker@1 @temporalio/workflow@1 @platformatic/kafka@1 kafkajs@2 zod@4 @prisma/adapter-pg@7',
    'yarn add --dev tsx@4',
  ]);
  expect(next[0]?.command).toBe('yarn run outbox:servers');
  const named = install.join(' ').match(/[@\w/-]+(?=@\d)/g) ?? [];
  const all = Object.fromEntries(
    [...named, 'temporal-outbox', 'tsx', '@prisma/client'].map((name) => [name, '7']),
  );
  expect(planned({ ...files, ...manifest({ dependencies: all }) }).install).toEqual([]);
});

test.each([
  ['order-placed', 'orderPlaced'],
  ['Shop.order_placed', 'shopOrderPlaced'],
  ['default', 'defaultTopic'],
  ['2-orders', '_2Orders'],
])('the constant of the topic %s is %s', (topic, constant) => {
  expect(constantOf(topic)).toBe(constant);
});
