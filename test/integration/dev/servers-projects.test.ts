// @module-tag apart
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../../dev/servers/process/free-port.ts';
import { readRunRecords } from '../../../dev/servers/process/run-record.ts';
import { type CliProcess, startCli } from '../../support/fixtures/cli-process.ts';
import { ownCache } from '../../support/fixtures/local-cache.ts';
import { until } from '../../support/fixtures/until.ts';

type Env = Readonly<Record<string, string>>;

/** A cache folder of its own, and no server by address; the machine may have other servers on the usual ports. */
async function bare() {
  const { cache, env } = await ownCache();
  const own = Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  const none = { DATABASE_URL: '', TEMPORAL_ADDRESS: '', KAFKA_BROKERS: '' };
  return { cache, env: { ...Object.fromEntries(own), ...none } as Env };
}

async function project(name: string): Promise<string> {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'outbox-project-')));
  onTestFinished(() => rm(folder, { recursive: true }));
  const own = path.join(folder, name);
  await mkdir(path.join(own, 'src'), { recursive: true });
  await writeFile(path.join(own, 'package.json'), '{}');
  return own;
}

const context = { onTestFinished };

/** Starts a command that stops its servers before the test is over: killed, it would leave them behind. */
function start(args: readonly string[], env: Env, cwd: string): CliProcess {
  const started = startCli(context, args, env, cwd);
  onTestFinished(async () => {
    started.signal('SIGINT');
    await codeOf(started);
  });
  return started;
}

/** Runs `servers` in this folder until its servers answer. */
async function up(cwd: string, env: Env, ...args: readonly string[]) {
  const servers = start(['servers', ...args], env, cwd);
  const kept = /^Their data is kept in (.+)\.$/m;
  // What it writes last, unless it runs a command.
  const last = args.includes('--') ? /Ctrl-C/ : kept;
  await until(async () => last.test(servers.stdout()) || (await ended(servers)), 180_000);
  expect(servers.stdout(), servers.stderr()).toContain('Ctrl-C');
  const [, url = ''] = /^export DATABASE_URL='(.+)'$/m.exec(servers.stdout()) ?? [];
  const [, data = ''] = kept.exec(servers.stdout()) ?? [];
  return { servers, url, data };
}

async function ended({ exited }: CliProcess): Promise<boolean> {
  return Promise.race([exited.then(() => true), Promise.resolve(false)]);
}

/** The exit code of a command that should end now. */
function codeOf({ exited }: CliProcess): Promise<unknown> {
  return Promise.race([exited, delay(60_000, 'still running', { ref: false })]);
}

/** Runs a command of `servers` to its end. */
async function done(cwd: string, env: Env, ...args: readonly string[]) {
  const servers = startCli(context, ['servers', ...args], env, cwd);
  const code = await servers.exited;
  return { code, said: servers.stdout() + servers.stderr() };
}

async function query<Row extends object>(url: string, text: string): Promise<readonly Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

test('two projects have servers and data of their own, and --reset starts one afresh but is refused by running servers', {
  tags: ['own-servers-per-project'],
}, async () => {
  const { cache, env } = await bare();
  const [shop, bank] = [await project('shop'), await project('bank')];
  const first = await up(shop, env);
  await query(first.url, 'create table kept as select 1 as one');
  // From a folder inside of the project the same servers are meant.
  const refused = await done(path.join(shop, 'src'), env, '--reset');
  expect(refused).toMatchObject({ code: 3, said: expect.stringContaining(first.data) });
  expect(refused.said).toContain('OUTBOX_SERVER_UNAVAILABLE');

  const second = await up(bank, env);
  expect(await query(second.url, "select to_regclass('kept') as kept")).toEqual([{ kept: null }]);
  expect([path.dirname(first.data), path.dirname(second.data)]).toEqual(
    Array.from({ length: 2 }, () => path.join(cache, 'data')),
  );
  expect(path.basename(first.data)).toMatch(/^shop-[0-9a-f]{6}$/);
  expect(path.basename(second.data)).toMatch(/^bank-[0-9a-f]{6}$/);

  for (const { servers } of [first, second]) {
    servers.signal('SIGINT');
    expect(await servers.exited, servers.stderr()).toBe(0);
  }
  expect(existsSync(path.join(first.data, 'kafka-1'))).toBe(true);
  const reset = await done(shop, env, '--reset');
  expect(reset).toEqual({ code: 0, said: `Deleting ${first.data}\n` });
  expect(await readdir(path.join(cache, 'data'))).toEqual([path.basename(second.data)]);
  const nothing = await done(shop, env, '--reset');
  expect(nothing).toEqual({ code: 0, said: `Nothing is kept in ${first.data}\n` });
});

test('servers use the given name and ports, and name a port that is taken', {
  tags: ['own-servers-per-project'],
}, async () => {
  const { cache, env } = await bare();
  const shop = await project('shop');
  const kafka = await freePort();
  const { data, servers } = await up(shop, env, '--name', 'mine', '--ports', `kafka=${kafka}`);
  expect(data).toBe(path.join(cache, 'data', 'mine'));
  expect(servers.stdout()).toContain(`export KAFKA_BROKERS='127.0.0.1:${kafka}'`);

  const taken = await done(
    shop,
    env,
    '--name',
    'other',
    '--ports',
    `temporal=${await freePort()},kafka=${kafka}`,
  );
  expect(taken).toMatchObject({ code: 3, said: expect.stringContaining(`port ${kafka}`) });
  for (const [ports, word] of [
    ['mysql=3306', 'mysql'],
    ['kafka=many', 'many'],
    ['kafka=99999', '99999'],
  ] as const) {
    const wrong = await done(shop, env, '--ports', ports);
    expect(wrong).toMatchObject({ code: 2, said: expect.stringContaining(word) });
  }
  expect(await done(shop, env, '--name', 'My Shop')).toMatchObject({
    code: 2,
    said: expect.stringContaining('My Shop'),
  });
});

test.for([[], ['--', process.execPath, '-e', 'setInterval(() => {}, 1000); console.log("Ctrl-C")']])(
  'a server that dies is named with its exit, and all of them end with it (servers %s)',
  { tags: ['own-servers-per-project'] },
  async (args) => {
    const { cache, env } = await bare();
    const { servers } = await up(await project('shop'), env, ...args);
    const kafka = readRunRecords(cache).find(({ server }) => server === 'Kafka');
    process.kill(kafka?.child?.pid ?? 0, 'SIGKILL');

    expect(await codeOf(servers)).toBe(3);
    expect(servers.stderr()).toMatch(/Kafka has ended by itself, by SIGKILL.* Its log is \S+\.log/);
    expect(readRunRecords(cache)).toEqual([]);
  },
);

test('dev ends with a server that dies, and names it', { tags: ['own-servers-per-project'] }, async () => {
  const { cache, env } = await bare();
  const folder = await project('shop');
  const root = path.resolve(import.meta.dirname, '../../..');
  await writeFile(
    path.join(folder, 'outbox.config.mjs'),
    `import { defineConfig, env, topic } from '${root}/dist/src/index.js';
import { kafka } from '${root}/dist/src/transports.js';
import { z } from '${root}/node_modules/zod/index.js';
export default defineConfig({
  database: { url: env('DATABASE_URL') },
  temporal: { address: env('TEMPORAL_ADDRESS') },
  topics: [topic('orders', z.unknown())],
  transports: { kafka: kafka({ servers: env('KAFKA_BROKERS') }) },
});
`,
  );
  const dev = start(['dev', '--name', 'mine', '--config', 'outbox.config.mjs'], env, folder);
  await until(async () => dev.stdout().includes('Delivering') || (await ended(dev)), 180_000);
  expect(dev.stdout(), dev.stderr()).toContain(`Their data is kept in ${path.join(cache, 'data', 'mine')}.`);
  const temporal = readRunRecords(cache).find(({ server }) => server === 'Temporal');
  process.kill(temporal?.child?.pid ?? 0, 'SIGKILL');

  expect(await codeOf(dev)).toBe(3);
  expect(dev.stderr()).toMatch(/Temporal has ended by itself, by SIGKILL/);
  expect(readRunRecords(cache)).toEqual([]);
});
