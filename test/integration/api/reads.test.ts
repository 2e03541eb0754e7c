import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Caller } from '../../../src/api/authentication.ts';
import { streamTable } from '../../../src/api/live/streams.ts';
import { operationTable } from '../../../src/api/table/table.ts';
import { beginTry } from '../../../src/store/inbox/tries.ts';
import { type ApiBench, adam, byHeader, olga, openApi, vera } from './api-bench.ts';
import { everyRead, fillWhole, firstEvents, keeping } from './full-world.ts';
import { inOrder, samplesOf, type World } from './samples.ts';

/** What an error quotes of a payload, and of what its process keeps secret. */
const planted = ['CANARY-OF-A-PAYLOAD', 'CANARY-OF-A-SECRET'];
const quoting = `CardError: cannot charge ${planted.join(' with ')}`;

let bench: ApiBench;
let world: World;
beforeAll(async () => {
  bench = await openApi(byHeader, { exhausted: 'block-key' });
  world = await fillWhole(bench, quoting);
  // Wherever the database has an error, or could have one.
  const columns = await bench.lane.database.query<{ table: string; name: string }>(
    `select c.relname as table, a.attname as name from pg_attribute a join pg_class c on c.oid = a.attrelid
     where c.relnamespace = 'outbox'::regnamespace and c.relkind = 'r' and a.attname in ('last_error', 'error') and a.atttypid = 'text'::regtype`,
  );
  if (columns.length < 5) throw new Error('The columns of errors are not found.');
  for (const { name, table } of columns) {
    await bench.lane.database.query(`alter table outbox.${table} disable trigger user`);
    await bench.lane.database.query(`update outbox.${table} set ${name} = $1`, [quoting]);
  }
});
afterAll(async () => {
  await bench.drop();
});

/** Every version of every row, with the transaction that last wrote or locked it. */
async function versions(): Promise<readonly string[]> {
  const tables = await bench.lane.database.query<{ name: string }>(
    `select c.relname as name from pg_class c
     where c.relnamespace = 'outbox'::regnamespace and c.relkind = 'r' order by 1`,
  );
  const all: string[] = [];
  for (const { name } of tables) {
    const rows = await bench.lane.database.query<{ at: string }>(
      `select concat_ws(' ', t.ctid, t.xmin, t.xmax) as at from only outbox.${name} t order by 1`,
    );
    all.push(...rows.map(({ at }) => `${name} ${at}`));
  }
  return all;
}

test('the world has messages of every kind', async () => {
  const states = (text: string) => bench.lane.database.query<{ state: string }>(text);
  const stored = await states(
    `select distinct case when archived_at is null then '' else 'archived ' end || state as state from outbox.message_all
     union select 'expunged' from outbox.message where expunged_at is not null`,
  );
  expect(stored.map(({ state }) => state)).toEqual(
    expect.arrayContaining([
      'waiting',
      'failed',
      'blocked',
      'superseded',
      'ready',
      'expunged',
      'archived published',
      'archived discarded',
    ]),
  );
  const kept = await states(
    `select state || case when key_id is null then '' when position = first then ' first' else ' queued' end as state
     from (select p.*, min(position) over (partition by key_id) as first from outbox.parked p) p
     union select 'expunged' from outbox.parked where expunged_at is not null`,
  );
  expect(kept.map(({ state }) => state)).toEqual(
    expect.arrayContaining(['parked first', 'parked queued', 'failed', 'superseded', 'expunged']),
  );
});

test('every GET of the table answers for every message, and neither writes nor locks a row', {
  tags: ['api-shows-nothing-without-right'],
}, async () => {
  const before = await versions();
  const paths = await everyRead(bench.lane.database);
  const answers: string[] = [];
  for (const path of paths) {
    const { status, text } = await bench.get(path, { as: vera });
    if (status !== 200) answers.push(`${path}: ${status} ${text}`);
  }
  expect(answers).toEqual([]);
  expect(await versions()).toEqual(before);
  expect(paths.length).toBeGreaterThan(operationTable.filter(({ method }) => method === 'GET').length);
});

test.each(streamTable.map(({ path, query }) => path + ('last' in query ? '?last=100' : '')))(
  'the stream %s tells all of it, and locks no row',
  async (path) => {
    const before = await versions();
    const text = await firstEvents(bench, path, vera);
    expect(text).toContain('\nevent: ');
    expect(text).not.toContain('trouble');
    expect(await versions()).toEqual(before);
  },
);

test('looks keep no try waiting, and a message that is tried is shown as tried', async () => {
  const { database } = bench.lane;
  const [head] = await database.query<{ id: string; keyId: string }>(
    `select message_id as id, key_id as "keyId" from outbox.parked where key = 'K' order by position limit 1`,
  );
  await database.query(`update outbox.parked_key set next_at = outbox.clock()`);
  const path = `/groups/${keeping}/kept/${head?.id}`;
  expect((await bench.get(path, { as: vera })).body).toMatchObject({ why: { code: 'overdue' } });
  const rules = { retryMs: [60_000], blockKey: false, maxKills: 3 };
  // A look that locks its key would answer it as busy for as long as its transaction is open.
  const begun = await database.transaction((sql) =>
    beginTry(sql, head?.keyId ?? '', rules, { worker: '7', most: 1, alone: false }),
  );
  expect(begun.kind).toBe('try');
  expect((await bench.get(path, { as: vera })).body).toMatchObject({
    message: { parkedKey: { inHand: true } },
    why: { code: 'in-hand' },
  });
});

/** Everything that this caller can read, by path. */
async function told(as: Caller): Promise<ReadonlyMap<string, string>> {
  const answers = new Map<string, string>();
  for (const path of await everyRead(bench.lane.database))
    answers.set(path, (await bench.get(path, { as })).text);
  for (const { path, query } of streamTable) {
    const asked = path + ('last' in query ? '?last=100' : '');
    answers.set(asked, await firstEvents(bench, asked, as));
  }
  const filter = { topic: 'orders', states: ['failed'] };
  const start = { task: { action: 'retry' }, reason: 'a look', dryRun: true };
  const operator = { ...as, role: 'operator' as const };
  for (const [path, of] of [
    ['/bulk', filter],
    ['/kept-bulk', { ...filter, group: keeping }],
  ] as const)
    answers.set(path, (await bench.post(path, { as: operator, body: { filter: of, ...start } })).text);
  return answers;
}

test('no error text is told without the right to payloads, whatever is asked; its class is', {
  tags: ['api-shows-nothing-without-right'],
}, async () => {
  const answers = await told(vera);
  const leaks = [...answers].filter(([, said]) => planted.some((word) => said.includes(word)));
  expect(leaks).toEqual([]);
  expect([...answers.values()].filter((said) => said.includes('CardError: …')).length).toBeGreaterThan(5);
});

test('with the right it is told, by every list and page that has it', async () => {
  const answers = await told(olga);
  const telling = [...answers].filter(([, said]) => said.includes(quoting)).map(([path]) => path);
  expect(telling).toEqual(
    expect.arrayContaining(['/messages', '/kept', '/events/messages?last=100', '/bulk', '/kept-bulk']),
  );
});

test('without the right nobody finds by trying what an error text has: no list, stream or bulk operation is filtered by it', {
  tags: ['api-shows-nothing-without-right'],
}, async () => {
  const [word = ''] = planted;
  const operator = { ...vera, role: 'operator' as const };
  const start = { filter: { topic: 'orders', error: word }, task: { action: 'retry' }, reason: 'a look' };
  const asks = [
    (as: Caller) => bench.get(`/messages?error=${word}`, { as }),
    (as: Caller) => bench.get(`/events/messages?error=${word}`, { as }),
    (as: Caller) => bench.post('/bulk', { as, body: { ...start, dryRun: true } }),
  ];
  for (const ask of asks) {
    const { body, status, text: said } = await ask(operator);
    expect([status, body['code']], said).toEqual([403, 'OUTBOX_REQUEST_DENIED']);
  }
  expect((await bench.get(`/messages?error=${word}`, { as: olga })).body['messages']).not.toEqual([]);
  expect((await bench.get('/messages?topic=orders', { as: operator })).status).toBe(200);
});

test('an admin without the right is told none by any operation either', {
  tags: ['api-shows-nothing-without-right'],
}, async () => {
  const samples = samplesOf(world);
  const as = { ...adam, payloads: false };
  const answered: string[] = [];
  for (const { method, name } of inOrder) {
    const { body, path } = samples[name] ?? expect.unreachable(name);
    const said = await (method === 'GET' ? bench.get(path, { as }) : bench.post(path, { as, body }));
    if (said.status === 200) answered.push(name);
    expect(
      planted.filter((word) => said.text.includes(word)),
      `${name}: ${said.text}`,
    ).toEqual([]);
  }
  expect(answered.length).toBeGreaterThan(inOrder.length / 2);
});
