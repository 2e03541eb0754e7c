// @module-tag apart
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, inject, test } from 'vitest';
import { runCli } from '../../support/fixtures/cli.ts';
import { type CliProcess, startCli } from '../../support/fixtures/cli-process.ts';
import { createEmptyDatabase } from '../../support/fixtures/database.ts';
import { until } from '../../support/fixtures/until.ts';
import { observer } from '../../support/kafka/kafka-topic.ts';

const root = path.resolve(import.meta.dirname, '../../..');
const servers = {
  TEMPORAL_ADDRESS: inject('temporalAddress'),
  KAFKA_BROKERS: inject('kafkaBrokers'),
};

/** The program of a consumer that says what it handles; what it says is in a file of its own. */
const consumer = `import { Pool } from '${root}/node_modules/pg/esm/index.mjs';
import { clientOf } from '${root}/dist/src/index.js';
import { consumer } from '${root}/dist/src/consumer.js';
import { say } from './say.mjs';
import config from './outbox.config.mjs';

const pool = new Pool({ connectionString: process.env.DATABASE_URL });
const running = await consumer(clientOf(pool), { config, group: process.env.GROUP, logger: false })
  .on(config.topics[0], async (_, { payload }) => say(payload.n))
  .start();
process.once('SIGTERM', async () => {
  await running.stop();
  await pool.end();
  console.log('stopped in order');
});
`;

const saying = (word: string): string => `export const say = (n) => console.log('${word}', n);\n`;

const configOf = (
  topics: readonly string[],
): string => `import { defineConfig, env, topic } from '${root}/dist/src/index.js';
import { kafka } from '${root}/dist/src/transports.js';
import { z } from '${root}/node_modules/zod/index.js';
export default defineConfig({
  database: { url: env('DATABASE_URL') },
  temporal: { address: env('TEMPORAL_ADDRESS') },
  topics: ${JSON.stringify(topics)}.map((name) => topic(name, z.object({ n: z.number() }))),
  transports: { kafka: kafka({ servers: env('KAFKA_BROKERS') }) },
});
`;

async function project(context: { readonly onTestFinished: (work: () => Promise<void>) => void }) {
  const folder = await mkdtemp(path.join(tmpdir(), 'outbox-dev-'));
  context.onTestFinished(() => rm(folder, { recursive: true }));
  const write = (name: string, text: string): Promise<void> => writeFile(path.join(folder, name), text);
  await write('consume.mjs', consumer);
  await write('say.mjs', saying('handled'));
  return { at: (name: string) => path.join(folder, name), write };
}

async function emptyDatabase(context: { readonly onTestFinished: (work: () => Promise<void>) => void }) {
  const made = await createEmptyDatabase();
  context.onTestFinished(() => made.drop());
  return made;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Waits until it has written this, or ended. */
function saysUntil(dev: CliProcess, wanted: RegExp): Promise<unknown> {
  let ended = false;
  void dev.exited.then(() => (ended = true));
  return until(async () => ended || wanted.test(dev.stdout()), 60_000).then(() =>
    expect(dev.stdout(), dev.stderr()).toMatch(wanted),
  );
}

test('dev prepares database and topics, delivers to the consumer, restarts what changed, and stops everything', async (context) => {
  const { database, url } = await emptyDatabase(context);
  const { at, write } = await project(context);
  const names = [`dev-${randomUUID()}`, `dev-${randomUUID()}`] as const;
  await write('outbox.config.mjs', configOf(names.slice(0, 1)));
  const args = ['dev', '--config', at('outbox.config.mjs'), '--consumer', at('consume.mjs')];
  const dev = startCli(context, args, { ...servers, DATABASE_URL: url, GROUP: `dev-${randomUUID()}` });
  const send = (n: number) =>
    database.query('select outbox.send($1, $2::text)', [names[0], JSON.stringify({ n })]);

  await saysUntil(dev, /^relay {4}\| Delivering 1 topic\./m);
  expect(dev.stdout().match(/^export DATABASE_URL=.*$/gm)).toEqual([`export DATABASE_URL='${url}'`]);
  expect(dev.stdout()).toMatch(/^Temporal UI: http/m);
  expect(dev.stdout()).toMatch(/^migrate {2}\| Applied /m);
  await saysUntil(dev, /^api {6}\| The API answers at http:\/\/127\.0\.0\.1:\d+/m);
  const address = /^api {6}\| The API answers at (?<url>http:[^,]+),/m.exec(dev.stdout())?.groups?.['url'];
  expect(await (await fetch(`${address}/me`)).json()).toMatchObject({ role: 'admin' });
  expect(dev.stdout()).not.toContain('\u001b');
  await send(1);
  await saysUntil(dev, /^consumer \| handled 1$/m);

  await write('say.mjs', saying('now handled'));
  await saysUntil(dev, /^consumer \| stopped in order$/m);
  await send(2);
  await saysUntil(dev, /^consumer \| now handled 2$/m);

  await write('outbox.config.mjs', configOf(names));
  await saysUntil(dev, /^relay {4}\| Delivering 2 topics/m);
  const admin = observer(inject('kafkaBrokers')).admin();
  await admin.connect();
  expect(await admin.listTopics()).toEqual(expect.arrayContaining([...names]));
  await admin.disconnect();

  dev.signal('SIGINT');
  expect(await dev.exited).toBe(0);
  // A server process outlives its client by a moment, and autovacuum comes when it likes.
  await until(async () => {
    const living = await database.query(
      `select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
         and backend_type = 'client backend'`,
    );
    return living.length === 0;
  });
});

test('dev leaves neither relay nor consumer behind when it is killed', async (context) => {
  const { database, url } = await emptyDatabase(context);
  const { at, write } = await project(context);
  await write('outbox.config.mjs', configOf([`dev-${randomUUID()}`]));
  await write('consume.mjs', `console.log('pid', process.pid);\nsetInterval(() => {}, 1_000);\n`);
  const args = ['dev', '--config', at('outbox.config.mjs'), '--consumer', at('consume.mjs')];
  const dev = startCli(context, args, { ...servers, DATABASE_URL: url });
  await saysUntil(dev, /^relay {4}\| Delivering 1 topic\./m);
  await saysUntil(dev, /^consumer \| pid \d+$/m);
  const pid = Number(/pid (\d+)/.exec(dev.stdout())?.[1]);
  expect(isAlive(pid)).toBe(true);

  dev.signal('SIGKILL');
  await until(async () => !isAlive(pid), 30_000);
  await until(async () => (await database.query('select from outbox.relay')).length === 0, 30_000);
});

test('dev starts nothing when a file is missing, or a consumer in TypeScript cannot be run', async (context) => {
  const { at, write } = await project(context);
  await write('outbox.config.mjs', configOf(['orders']));
  await write('consume.ts', 'const n: number = 1;\nconsole.log(n);\n');
  const dev = (...flags: readonly string[]) =>
    runCli(['dev', ...flags], { ...servers, DATABASE_URL: inject('databaseUrl') });
  const config = ['--config', at('outbox.config.mjs')];

  const nowhere = await dev('--config', at('nowhere.ts'));
  expect([nowhere.code, nowhere.stderr]).toEqual([2, expect.stringContaining('OUTBOX_CONFIG_FILE_MISSING')]);
  const missing = await dev(...config, '--consumer', at('nothing.mjs'));
  expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('There is no consumer at')]);
  const unknown = await dev(...config, '--with', 'mysql');
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('mysql')]);
  for (const { stdout } of [nowhere, missing, unknown]) expect(stdout).toBe('');
  // Later versions of Node run it by themselves.
  if ('typescript' in process.features) return;
  const typescript = await dev(...config, '--consumer', at('consume.ts'));
  expect([typescript.code, typescript.stderr]).toEqual([
    1,
    expect.stringContaining('npm install --save-dev tsx'),
  ]);
});

test('dev ends with exit code 1 when the database cannot be prepared', async (context) => {
  const { database, url } = await emptyDatabase(context);
  await database.query('create schema outbox');
  const { at, write } = await project(context);
  await write('outbox.config.mjs', configOf(['orders']));

  const { code, stderr } = await runCli(['dev', '--config', at('outbox.config.mjs')], {
    ...servers,
    DATABASE_URL: url,
  });

  expect(code).toBe(1);
  expect(stderr).toMatch(/^migrate {2}\| .*outbox/m);
});
