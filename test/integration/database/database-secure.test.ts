// @module-tag apart
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { operations } from '../../../src/app/operations/operations.ts';
import { startRelay } from '../../../src/app/relay/start-relay.ts';
import { memoryTransport } from '../../../src/brokers/memory/memory-transport.ts';
import { type DatabaseConfig, databaseOf } from '../../../src/config/database-config.ts';
import { OutboxError } from '../../../src/core/errors.ts';
import { send } from '../../../src/outbox/send.ts';
import type { RelayEvent } from '../../../src/relay/report.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { openDatabase } from '../../../src/store/database/pool.ts';
import { fromQuery } from '../../../src/store/database/transaction.ts';
import { visitDatabase } from '../../../src/store/database/visit.ts';
import { testAuthority } from '../../support/fixtures/certificates.ts';
import { runCli } from '../../support/fixtures/cli.ts';
import { ownPostgres, useTls } from '../../support/fixtures/own-postgres.ts';
import { numbered, quietTemporal } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';

const authority = testAuthority('right');
const stranger = testAuthority('wrong');
const ends: (() => Promise<void>)[] = [];
let admin: Database;
/** Of the users `app` and `guarded`, whose password is `first`. */
let app: string;
let guarded: string;

beforeAll(async () => {
  quietTemporal();
  const { url } = await ownPostgres({ onTestFinished: (work) => ends.push(work) });
  admin = openDatabase({ url, connections: 1 });
  ends.push(() => admin.close());
  await useTls(url, { ...authority.issue('127.0.0.1', 'postgres.test'), clientsOf: authority.ca });
  for (const user of ['app', 'guarded'])
    await admin.query(`create role ${user} superuser login password 'first'`);
  app = url.replace(/\/\/[^@]*@/, '//app:first@');
  guarded = url.replace(/\/\/[^@]*@/, '//guarded:first@');
  const answers = () => tlsVersion({ url: app, tls: { ca: authority.ca } });
  await until(async () => (await answers()) !== null);
});
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
});

/** By which TLS a connection came in; null: without. */
async function tlsVersion(database: DatabaseConfig): Promise<string | null> {
  return visitDatabase(databaseOf(database), async (at) => {
    const [row] = await at.query<{ version: string | null }>(
      'select version from pg_stat_ssl where pid = pg_backend_pid()',
    );
    return row?.version ?? null;
  });
}

async function failure(database: DatabaseConfig): Promise<OutboxError> {
  const error: unknown = await tlsVersion(database).catch((thrown: unknown) => thrown);
  if (!(error instanceof OutboxError)) throw new Error(`It is no OutboxError: ${String(error)}`);
  return error;
}

test.each<[string, () => DatabaseConfig]>([
  ['by the option tls', () => ({ url: app, tls: { ca: authority.ca } })],
  ['by a function, as from a file', () => ({ url: app, tls: () => ({ ca: authority.ca }) })],
  ['with another name', () => ({ url: app, tls: { ca: authority.ca, servername: 'postgres.test' } })],
  [
    'with another name than the host has',
    () => ({
      url: app.replace('127.0.0.1', 'localhost'),
      tls: { ca: authority.ca, servername: 'postgres.test' },
    }),
  ],
  ['by the address', () => ({ url: `${app}?sslmode=no-verify` })],
])('PostgreSQL is reached by TLS: %s', async (_how, database) => {
  expect(await tlsVersion(database())).toMatch(/^TLSv1/);
});

test('TLS is off by default, and the option tls overrides the address', async () => {
  expect(await tlsVersion({ url: app })).toBeNull();
  expect(await tlsVersion({ url: `${app}?sslmode=no-verify`, tls: false })).toBeNull();
});

test.each<[string, () => DatabaseConfig, RegExp]>([
  ['another CA', () => ({ url: app, tls: { ca: stranger.ca } }), /certificate/],
  ['the CAs that Node trusts', () => ({ url: app, tls: true }), /certificate/],
  ['another name', () => ({ url: app, tls: { ca: authority.ca, servername: 'other.test' } }), /other\.test/],
  [
    'another name at a host with a name',
    () => ({ url: app.replace('127.0.0.1', 'localhost'), tls: { ca: authority.ca } }),
    /localhost/,
  ],
])(
  'with %s the error names the server, the reason and the next step, but no password',
  async (_what, database, reason) => {
    const error = await failure(database());

    expect(error).toMatchObject({ code: 'OUTBOX_TLS_FAILED', retryable: false });
    expect(error.message).toMatch(
      /^TLS with PostgreSQL at (?:127\.0\.0\.1|localhost):\d+ \(database "outbox"\) failed: /,
    );
    expect(error.message).toMatch(reason);
    expect(error.message).not.toContain('first');
    expect(error.next).toContain('tls.ca');
  },
);

test('a client certificate is accepted where one is required, also after the options were used before', async () => {
  const tls = { ca: authority.ca, ...authority.issue() };

  expect(await tlsVersion({ url: guarded, tls })).toMatch(/^TLSv1/);
  expect(await tlsVersion({ url: guarded, tls })).toMatch(/^TLSv1/);
  expect(await failure({ url: guarded, tls: { ca: authority.ca } })).toMatchObject({
    code: 'OUTBOX_SERVER_REFUSED',
    message: expect.stringContaining('client certificate'),
  });
});

test('the option password overrides that of the address, and a function that failed is called again', async () => {
  const url = app.replace(':first@', ':old@');
  expect(await failure({ url })).toMatchObject({ code: 'OUTBOX_SERVER_REFUSED' });
  expect(await tlsVersion({ url, password: 'first' })).toBeNull();
  expect(await tlsVersion({ url: app.replace(':first@', '@'), password: async () => 'first' })).toBeNull();

  const password = () => Promise.reject(new Error('the vault is sealed'));
  expect(await failure({ url, password })).toMatchObject({
    code: 'OUTBOX_SERVER_UNAVAILABLE',
    message: 'The function database.password failed: the vault is sealed.',
  });
  const nothing = (() => undefined) as unknown as () => string;
  expect(await failure({ url, password: nothing })).toMatchObject({ code: 'OUTBOX_CONFIG_INVALID' });
});

test('a running relay reconnects with the current password on every kind of connection', async () => {
  const topic = numbered('rotated');
  const memory = memoryTransport();
  const events: RelayEvent[] = [];
  let password = 'first';
  let asked = 0;
  const database = {
    url: app.replace(':first@', '@'),
    tls: { ca: authority.ca },
    password: () => {
      asked += 1;
      return password;
    },
  };
  const relay = startRelay(
    { database, temporal: { address: inject('temporalAddress') }, topics: [topic], transports: { memory } },
    { report: (event) => events.push(event) },
  );
  onTestFinished(() => relay.stop());
  onTestFinished(async () => {
    await admin.query(`alter role app password 'first'`);
  });
  await relay.ready;
  const commit = (n: number) =>
    admin.transaction((sql) =>
      send(
        fromQuery((text, values) => sql.query(text, values)),
        topic,
        { n },
      ),
    );
  await commit(1);
  await until(() => memory.records(topic.name).length === 1);
  const before = asked;
  expect(before).toBeGreaterThan(1);

  await admin.query(`alter role app password 'second'`);
  password = 'second';
  const [now] = await admin.query<{ at: string }>('select clock_timestamp()::text as at');
  const endOld = () =>
    admin.query<{ name: string }>(
      `select application_name as name, pg_terminate_backend(pid) from pg_stat_activity
       where usename = 'app' and backend_start < $1::timestamptz`,
      [now?.at],
    );
  const ended = await endOld();
  await commit(2);

  await until(() => memory.records(topic.name).length === 2);
  expect(new Set(ended.map(({ name }) => name))).toEqual(
    new Set(['temporal-outbox', 'temporal-outbox session']),
  );
  const names = () =>
    admin.query<{ name: string }>(
      `select distinct application_name as name from pg_stat_activity join pg_stat_ssl using (pid) where usename = 'app' and ssl`,
    );
  // The session listens again, too.
  await until(async () => (await names()).length === 2);
  // One that was being opened with the old password was not among those that were ended.
  await until(async () => (await endOld()).length === 0);
  await until(() => asked > before + 1);
});

test('operations and commands connect by the configuration', async () => {
  const at = operations({ database: { url: app, tls: { ca: authority.ca }, password: () => 'first' } });
  onTestFinished(() => at.close());
  expect(await at.status()).toMatchObject({ twin: null });

  const folder = await mkdtemp(path.join(tmpdir(), 'outbox-config-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const source = fileURLToPath(new URL('../../../dist/src', import.meta.url));
  await writeFile(path.join(folder, 'ca.pem'), authority.ca);
  const file = path.join(folder, 'outbox.config.ts');
  await writeFile(
    file,
    `import { readFileSync } from 'node:fs';
import { defineConfig, env, topic } from '${source}/index.js';
import { print } from '${source}/transports.js';
import { z } from '${path.join(source, '../../node_modules/zod')}';
export default defineConfig({
  database: {
    url: env('APP_URL'),
    tls: () => ({ ca: readFileSync(${JSON.stringify(path.join(folder, 'ca.pem'))}), servername: process.env['APP_NAME'] ?? 'postgres.test' }),
    password: async () => 'first',
  },
  temporal: { address: env('NOBODY_SETS_THIS') },
  topics: [topic('orders', z.unknown())],
  transports: { print: print() },
});
`,
  );
  const env = { APP_URL: app.replace(':first@', '@'), DATABASE_URL: 'postgresql://127.0.0.1:9/nobody' };

  expect(await runCli(['status', '--config', file], env)).toMatchObject({ code: 0, stderr: '' });
  expect(await runCli(['migrate', '--check', '--config', file], env)).toMatchObject({ code: 0 });
  const wrong = await runCli(['list', '--config', file], { ...env, APP_NAME: 'other.test' });
  expect(wrong.stderr).toContain('TLS with PostgreSQL');
  expect(wrong.code).toBe(3);
  const missing = await runCli(['relay', '--config', file], env);
  expect(missing.stderr).toContain('NOBODY_SETS_THIS');
});
