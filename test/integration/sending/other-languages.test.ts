import { readFileSync } from 'node:fs';
import pg from 'pg';
import { beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { untilLockWaits } from '../../support/fixtures/lock-waits.ts';

const page = readFileSync(new URL('../../../docs/other-languages.md', import.meta.url), 'utf8');
/** The programs in SQL of docs/other-languages.md. */
const [sending = '', changing = '', table = '', applying = ''] = [
  ...page.matchAll(/^```sql\n(?<sql>.*?)^```$/gms),
].map(({ groups }) => groups?.['sql'] ?? '');
/** `begin`, the id, the effect, `commit`. */
const [, insertId = '', effect = ''] = applying.split(/;\n/);

let made: TestDatabase;
const clients: pg.Client[] = [];

beforeEach(async () => {
  made = await createTestDatabase();
  await made.database.query('create table orders (id text)');
  await made.database.query(table);
  await made.database.query(`create table stock as select 'apple' as sku, 10 as pieces`);
  return async () => {
    await Promise.all(clients.splice(0).map((client) => client.end()));
    await made.drop();
  };
});

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: made.url });
  await client.connect();
  clients.push(client);
  return client;
}

/** The first column of the first row, of each statement that returns rows. */
async function run(sql: string): Promise<readonly unknown[]> {
  const results = (await (await connect()).query(sql)) as unknown as readonly pg.QueryResult<object>[];
  return results
    .filter(({ command }) => command === 'SELECT')
    .map(({ rows: [row] }) => Object.values(row ?? {})[0] as unknown);
}

async function count(topic: string): Promise<unknown> {
  const rows = await made.database.query(`select count(*)::int as n from outbox.message where topic = $1`, [
    topic,
  ]);
  return rows[0];
}

/** As the page says: the effect only if the id was new. */
async function apply(client: pg.Client): Promise<number | null> {
  const { rowCount } = await client.query(insertId);
  if (rowCount === 1) await client.query(effect);
  return rowCount;
}

const pieces = async () => (await made.database.query('select pieces from stock'))[0];

test('the statements of the page store a message with its row, move it and cancel it', async () => {
  const ids = await run(sending);
  const answers = await run(changing);

  expect(
    await made.database.query(`select id, payload, key, state::text from outbox.message order by position`),
  ).toEqual([
    { id: ids[0], payload: '{"orderId":"o-1"}', key: 'o-1', state: 'ready' },
    { id: ids[1], payload: '{"orderId":"o-1"}', key: null, state: 'canceled' },
    { id: answers[3], payload: '{"orderId":"o-2"}', key: 'o-2', state: 'ready' },
  ]);
  expect(answers).toEqual(['rescheduled', 'canceled', 0, expect.any(String)]);
  expect(await made.database.query('select id from orders')).toEqual([{ id: 'o-1' }]);
});

test.each([
  [`select (outbox.send('calls', '1')).*`, 5],
  [`select (outbox.send_batch('calls', '[{"payload":"1"}]')).*`, 1],
  [`select (outbox.send('calls', '1')).id`, 1],
  [`select * from outbox.send('calls', '1')`, 1],
  [`select * from outbox.send_batch('calls', '[{"payload":"1"}]')`, 1],
])('%s stores %i messages', async (statement, messages) => {
  const { fields } = await (await connect()).query(statement);

  expect(await count('calls')).toEqual({ n: messages });
  if (statement.includes('*'))
    expect(fields.map(({ name }) => name)).toEqual(['id', 'workflow_id', 'state', 'due_at', 'duplicate']);
});

test('a payload is stored as it is, but an object of a batch as PostgreSQL writes it', async () => {
  const text = '{"b":1.50,  "a":2}';
  await made.database.query(`select from outbox.send('bytes', $1)`, [text]);
  await made.database.query(`select from outbox.send_batch('bytes', $1::jsonb)`, [`[{"payload": ${text}}]`]);

  expect(await made.database.query(`select payload from outbox.message order by position`)).toEqual([
    { payload: text },
    { payload: '{"a": 2, "b": 1.50}' },
  ]);
});

test('a refusal aborts the transaction, unless a savepoint is before it', async () => {
  const client = await connect();
  await client.query('begin');
  await client.query(`select from outbox.send('kept', '1')`);
  await client.query('savepoint before_it');
  await expect(client.query(`select from outbox.send('kept', 'no JSON')`)).rejects.toMatchObject({
    code: 'OB002',
  });
  await expect(client.query('select 1')).rejects.toMatchObject({ code: '25P02' });
  await client.query('rollback to before_it');

  expect((await client.query('commit')).command).toBe('COMMIT');
  expect(await count('kept')).toEqual({ n: 1 });
});

test('an id that is known has no second effect', async () => {
  const client = await connect();
  for (const rows of [1, 0]) {
    await client.query('begin');
    expect(await apply(client)).toBe(rows);
    await client.query('commit');
  }

  expect(await pieces()).toEqual({ pieces: 9 });
});

test.each([
  ['commit', 0],
  ['rollback', 1],
])('a zombie and its successor: after the %s of the first the other inserts %i rows', async (end, rows) => {
  const [zombie, successor] = [await connect(), await connect()];
  for (const client of [zombie, successor]) await client.query('begin');
  await apply(zombie);
  const second = apply(successor);
  await untilLockWaits(made.database, 1);

  await zombie.query(end);
  expect(await second).toBe(rows);
  await successor.query('commit');

  expect(await pieces()).toEqual({ pieces: 9 });
});

test('above READ COMMITTED the insert that waited fails with 40001 and is to be repeated', async () => {
  const [zombie, successor] = [await connect(), await connect()];
  await zombie.query('begin');
  await successor.query('begin isolation level repeatable read');
  await successor.query('select from stock');
  await apply(zombie);
  const second = apply(successor);
  const failure = second.catch((error: unknown) => error);
  await untilLockWaits(made.database, 1);

  await zombie.query('commit');
  expect(await failure).toMatchObject({ code: '40001' });
  expect(await pieces()).toEqual({ pieces: 9 });
});

test('a commit after a caught unique violation is a rollback without an error', async () => {
  const plain = insertId.replace(' on conflict do nothing', '');
  const client = await connect();
  await client.query(plain);
  await client.query('begin');
  await client.query(effect);
  await expect(client.query(plain)).rejects.toMatchObject({ code: '23505' });

  expect((await client.query('commit')).command).toBe('ROLLBACK');
  expect(await pieces()).toEqual({ pieces: 10 });
});
