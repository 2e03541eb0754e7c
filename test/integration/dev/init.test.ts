// @module-tag apart
import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, inject, onTestFinished, test } from 'vitest';
import { createEmptyDatabase } from '../../support/fixtures/database.ts';
import { until } from '../../support/fixtures/until.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../../', import.meta.url));
const main = path.join(root, 'dist/bin/temporal-outbox.js');
/** Programs of a project read its own file of variables, which those of this process would win over. */
const given = new Set(['DATABASE_URL', 'TEMPORAL_ADDRESS', 'KAFKA_BROKERS']);
const plainEnv = Object.fromEntries(Object.entries(process.env).filter(([name]) => !given.has(name)));
const packages = [
  'temporal-outbox',
  '@prisma/client',
  '@prisma/adapter-pg',
  '@types/node',
  '@types/pg',
  'pg',
  'zod',
];

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Scratch {
  readonly folder: string;
  read(file: string): Promise<string>;
  /** Runs Node in the folder, with `input` as all that is typed. */
  node(args: readonly string[], input?: string): Promise<Ended>;
}

/** A project in a folder of its own, with the packages of this repository. */
async function scratch(files: Readonly<Record<string, string>>): Promise<Scratch> {
  const folder = await mkdtemp(path.join(tmpdir(), 'outbox-init-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  for (const name of packages) {
    const link = path.join(folder, 'node_modules', name);
    await mkdir(path.dirname(link), { recursive: true });
    await symlink(name === 'temporal-outbox' ? root : path.join(root, 'node_modules', name), link);
  }
  for (const [name, contents] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), contents);
  }
  return {
    folder,
    read: (file) => readFile(path.join(folder, file), 'utf8'),
    async node(args, input = '') {
      const env = { ...plainEnv, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath };
      const child = spawn(process.execPath, args, { cwd: folder, env });
      child.stdin.end(input);
      const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
      await until(() => child.exitCode !== null);
      return { code: child.exitCode, stdout, stderr };
    },
  };
}

const manifest = (parts: object) => `${JSON.stringify({ name: 'shop', ...parts }, null, 2)}\n`;
const pg = { dependencies: { pg: '8' } };

async function commit({ folder }: Scratch): Promise<void> {
  const git = (...args: readonly string[]) => run('git', args, { cwd: folder });
  await writeFile(path.join(folder, '.gitignore'), 'node_modules\ngenerated\n');
  await git('init', '--quiet');
  await git('add', '--all');
  await git('-c', 'user.name=a', '-c', 'user.email=a@example.com', 'commit', '--quiet', '--message', 'Begin');
}

test('init shows the files that it would write, and writes only when confirmed', async () => {
  const project = await scratch({ 'package.json': manifest(pg) });

  for (const answer of ['', 'n\n']) {
    const { code, stderr, stdout } = await project.node([main, 'init'], answer);
    expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringContaining('src/topics.js, new:') });
    expect(stdout).toContain("topic('order-placed', z.object({ id: z.string() }))");
    expect(stderr).toContain('Nothing was written.');
  }
  const shown = await project.node([main, 'init', '--json']);
  expect(JSON.parse(shown.stdout)).toMatchObject({ ok: true, written: null });
  expect(await project.read('package.json')).toBe(manifest(pg));
  await expect(project.read('src/topics.js')).rejects.toThrow('ENOENT');

  const { code, stdout } = await project.node([main, 'init'], 'y\n');
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringContaining(
      'Wrote src/topics.js, src/outbox.config.js, src/consume.js, package.json.',
    ),
  });
});

test('git alone undoes what init wrote', async () => {
  const project = await scratch({ 'package.json': manifest(pg), 'src/main.js': '' });
  await commit(project);

  const { stdout } = await project.node([main, 'init', '--yes']);
  const status = () => run('git', ['status', '--porcelain'], { cwd: project.folder });
  expect((await status()).stdout).toContain('package.json');
  const [, undo = ''] = /^To undo it: (.+)$/m.exec(stdout) ?? [];
  await run('sh', ['-c', undo], { cwd: project.folder });

  expect((await status()).stdout).toBe('');
});

test('init overwrites nothing and names the files that it leaves', async () => {
  const own = manifest({ ...pg, scripts: { 'outbox:relay': 'own' } }).replaceAll('  ', '\t');
  const project = await scratch({ 'package.json': own, 'topics.js': 'mine' });

  const { code, stdout } = await project.node([main, 'init', '--yes']);

  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringContaining('topics.js exists, and stays'),
  });
  expect(stdout).toContain('The script outbox:relay exists, and stays');
  expect(await project.read('topics.js')).toBe('mine');
  const after = await project.read('package.json');
  expect(after).toContain('\t\t"outbox:relay": "own"');
  expect(JSON.parse(after)).toMatchObject({
    scripts: { 'outbox:migrate': 'temporal-outbox migrate --create' },
  });
  const again = await project.node([main, 'init', '--yes', '--json']);
  expect(JSON.parse(again.stdout)).toMatchObject({ written: { files: [], scripts: [] } });
  expect(await project.read('package.json')).toBe(after);
});

test('init refuses a folder without a project, and a name that is not valid for a topic', async () => {
  const empty = await scratch({});
  const unfit = await empty.node([main, 'init', '--yes', '--json']);
  expect(unfit.code).toBe(1);
  expect(JSON.parse(unfit.stdout)).toMatchObject({ ok: false, code: 'OUTBOX_PROJECT_UNFIT' });

  const project = await scratch({ 'package.json': manifest(pg) });
  const invalid = await project.node([main, 'init', '--yes', '--topic', 'two words']);
  expect(invalid).toMatchObject({ code: 1, stderr: expect.stringContaining('OUTBOX_TOPIC_INVALID') });
});

const strict = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUnusedLocals: true,
  noUnusedParameters: true,
};
const compiled = (options: object) =>
  JSON.stringify({
    compilerOptions: {
      ...strict,
      target: 'es2023',
      skipLibCheck: true,
      types: ['node'],
      noEmit: true,
      ...options,
    },
    include: ['.'],
  });
const schema = (
  generator: string,
) => `generator client {\n${generator}\n}\ndatasource db {\nprovider = "postgresql"\n}\n
model Account {\nid String @id\n}\n`;

test.each([
  { kind: 'module', module: 'nodenext', generator: 'provider = "prisma-client"' },
  {
    kind: 'module',
    module: 'nodenext',
    generator: 'provider = "prisma-client"\nimportFileExtension = "ts"',
    options: { allowImportingTsExtensions: true },
  },
  { kind: 'module', module: 'esnext', options: { moduleResolution: 'bundler' }, generator: '' },
  { kind: 'commonjs', module: 'nodenext', generator: 'provider = "prisma-client"\nmoduleFormat = "cjs"' },
  { kind: 'commonjs', module: 'nodenext', generator: 'provider = "prisma-client-js"' },
  { kind: 'commonjs', module: 'node16', generator: '' },
])(
  'the files of init compile with strict options: $kind, $module, $generator',
  { timeout: 60_000 },
  async ({ generator, kind, module, options = {} }) => {
    const dependencies = generator === '' ? { pg: '8' } : { '@prisma/client': '^7.0.0' };
    const project = await scratch({
      'package.json': manifest({ type: kind, dependencies }),
      'tsconfig.json': compiled({ module, ...options }),
      'src/main.ts': 'export {};\n',
      'prisma/schema.prisma': schema(`${generator}\noutput = "../src/generated"`),
    });
    if (generator !== '') {
      const prisma = path.join(root, 'node_modules/prisma/build/index.js');
      const { code, stderr } = await project.node([prisma, 'generate', '--no-hints']);
      expect(code, stderr).toBe(0);
    }

    const said = await project.node([main, 'init', '--yes']);
    expect(said.stdout).toMatch(
      /relay --config dist\/outbox\.config\.js +# in production, after your build$/m,
    );
    const { stdout } = await project.node([path.join(root, 'node_modules/typescript/bin/tsc'), '-p', '.']);

    expect(stdout).toBe('');
  },
);

test('the JavaScript files of init handle a message, and commands find them without flags', {}, async () => {
  const database = await createEmptyDatabase();
  onTestFinished(() => database.drop());
  const { url } = database;
  const topic = `init-${path.basename(url)}`;
  const project = await scratch({
    'package.json': manifest({ ...pg, name: topic }),
    '.env': `DATABASE_URL=${url}\nTEMPORAL_ADDRESS=${inject('temporalAddress')}\nKAFKA_BROKERS=${inject('kafkaBrokers')}\n`,
    'src/main.js': '',
  });
  await project.node([main, 'init', '--yes', '--topic', topic]);

  const migrated = await project.node([main, 'migrate', '--create']);
  expect(migrated, migrated.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining(topic) });
  const said = { text: '' };
  for (const args of [[main, 'relay'], ['src/consume.js']]) {
    const child = spawn(process.execPath, args, { cwd: project.folder, env: plainEnv });
    onTestFinished(async () => {
      child.kill('SIGTERM');
      await until(() => child.exitCode !== null || child.signalCode !== null);
    });
    for (const output of [child.stdout, child.stderr])
      output.on('data', (data: Buffer) => (said.text += data.toString()));
  }
  const sent = `select outbox.send('${topic}', '{"id":"first"}')`;
  const client = `const { Client } = require('pg'); const c = new Client('${url}'); c.connect().then(() => c.query(\`${sent}\`)).then(() => c.end())`;
  const stored = await project.node(['-e', client]);
  expect(stored, stored.stderr).toMatchObject({ code: 0 });

  await until(() => said.text.includes(`${topic}: {"id":"first"}`), 60_000).catch((cause: unknown) => {
    throw new Error(said.text, { cause });
  });
});

/** Says on standard output when the pool of this process has been closed. */
const sayingPool = `const { Pool } = require('pg'); const { end } = Pool.prototype;
Pool.prototype.end = async function () { await end.call(this); console.log('pool closed'); };
`;

test.each(['PostgreSQL', 'kafka'] as const)(
  'the consumer written by init stops cleanly on SIGTERM, also while it waits for %s',
  { tags: ['written-consumer-stops-cleanly'], timeout: 120_000 },
  async (away) => {
    const database = await createEmptyDatabase();
    onTestFinished(() => database.drop());
    // Nothing listens there.
    const nowhere = '127.0.0.1:1';
    const url = away === 'PostgreSQL' ? `postgresql://nobody@${nowhere}/outbox` : database.url;
    const brokers = away === 'kafka' ? nowhere : inject('kafkaBrokers');
    const topic = `init-${path.basename(database.url)}`;
    const project = await scratch({
      'package.json': manifest({ ...pg, name: topic }),
      'saying-pool.cjs': sayingPool,
      'src/main.js': '',
    });
    await project.node([main, 'init', '--yes', '--topic', topic]);
    await project.node([main, 'migrate', '--database', database.url]);

    const child = spawn(process.execPath, ['--require', './saying-pool.cjs', 'src/consume.js'], {
      cwd: project.folder,
      // Not in .env, because variables of the environment override it when tests run on given servers.
      env: {
        ...process.env,
        DATABASE_URL: url,
        TEMPORAL_ADDRESS: inject('temporalAddress'),
        KAFKA_BROKERS: brokers,
      },
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const said = { text: '' };
    for (const output of [child.stdout, child.stderr])
      output.on('data', (data: Buffer) => (said.text += data.toString()));
    await until(() => new RegExp(`"server":"${away}"`).test(said.text), 60_000).catch((cause: unknown) => {
      throw new Error(said.text, { cause });
    });
    child.kill('SIGTERM');
    await until(() => child.exitCode !== null || child.signalCode !== null);

    expect(said.text).not.toMatch(/^ {4}at |OUTBOX_STOPPED/m);
    expect(said.text).toContain('pool closed');
    expect(child.exitCode).toBe(0);
  },
);
