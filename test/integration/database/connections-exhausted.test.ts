import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { apiHandler } from '../../../src/api/handler.ts';
import { consumer } from '../../../src/app/consumer/consumer.ts';
import { operations } from '../../../src/app/operations/operations.ts';
import { startRelay } from '../../../src/app/relay/start-relay.ts';
import { print } from '../../../src/brokers/print/print-transport.ts';
import { explain } from '../../../src/cli/output.ts';
import { clientOf } from '../../../src/index.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { examined } from '../../support/fixtures/doctor.ts';
import { numbered } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';
import { byHeader, olga } from '../api/api-bench.ts';

const role = `crowded_${randomBytes(4).toString('hex')}`;
const code = 'OUTBOX_CONNECTIONS_EXHAUSTED';
const exhausted = {
  code,
  message: expect.stringMatching(/too many connections for role/),
  next: expect.stringMatching(/`database\.connections`.*`connection limit`/),
};

const quiet = (): void => undefined;

let made: TestDatabase;
/** Of a role that may have one connection, which somebody else has. */
let url: string;
let holder: pg.Client;

beforeAll(async () => {
  made = await createTestDatabase();
  await made.database.query(`create role ${role} login password 'p' connection limit 1`);
  await made.database.query(`grant usage on schema outbox to ${role}`);
  const asRole = new URL(made.url);
  asRole.username = role;
  asRole.password = 'p';
  url = asRole.href;
  holder = new pg.Client({ connectionString: url });
  await holder.connect();
});

afterAll(async () => {
  await holder.end();
  await made.database.query(`drop owned by ${role}`);
  await made.database.query(`drop role ${role}`);
  await made.drop();
});

const config = () => ({
  database: { url },
  temporal: { address: inject('temporalAddress') },
  topics: [numbered('orders')],
  transports: { print: print() },
});

test('operations, doctor and the HTTP API name the limit, and a command says so by its exit code', async () => {
  const at = operations({ database: { url } });
  const refused: unknown = await at.status().catch((error: unknown) => error);
  await at.close();
  expect(refused).toMatchObject(exhausted);
  expect(explain(refused, { json: true, line: quiet, value: quiet, trouble: quiet })).toBe(3);

  const { postgres } = Object.fromEntries(await examined(config()));
  expect(postgres).toMatchObject({ state: 'problem', message: exhausted.message, next: exhausted.next });

  const api = apiHandler({ database: { url } }, { authentication: byHeader, logger: false });
  const answer = await api(
    new Request('http://api.test/status', { headers: { 'x-test': JSON.stringify(olga) } }),
  );
  await api.close();
  expect(answer.status).toBe(503);
  expect(await answer.json()).toMatchObject({ code, next: exhausted.next });
});

test('a relay that starts says which limit it waits for', async (context) => {
  const lines: object[] = [];
  const line = (facts: object): void => void lines.push(facts);
  const relay = startRelay(config(), { logger: { warn: line, error: line } });
  context.onTestFinished(() => relay.stop());
  relay.ready.catch(() => undefined);
  await until(() => lines.length > 0);
  expect(lines).toContainEqual(
    expect.objectContaining({ event: 'waiting-for-server', code, next: exhausted.next }),
  );
});

test('a consumer names the limit of its pool, and after its time its start fails with it', async (context) => {
  const pool = new pg.Pool({ connectionString: url, max: 15 });
  context.onTestFinished(() => pool.end());
  const lines: object[] = [];
  const line = (facts: object): void => void lines.push(facts);
  const shop = consumer(clientOf(pool), {
    config: config(),
    group: 'shop',
    // So that there is a try after the first one, also on a busy machine.
    startTimeout: '4s',
    logger: { warn: line, error: line },
  }).on(numbered('orders'), async () => undefined);

  await expect(shop.start()).rejects.toMatchObject(exhausted);
  expect(lines).toContainEqual(expect.objectContaining({ event: 'waiting-for-server', code }));
});
