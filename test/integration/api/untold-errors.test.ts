import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Caller } from '../../../src/api/authentication.ts';
import { streamTable } from '../../../src/api/live/streams.ts';
import { type ApiBench, adam, byHeader, olga, openApi, vera } from './api-bench.ts';
import { everyRead, fillWhole, keeping } from './full-world.ts';
import { inOrder, samplesOf, type World } from './samples.ts';

/** What an error quotes of a payload, and of what its process keeps secret. */
const planted = ['CANARY-OF-A-PAYLOAD', 'CANARY-OF-A-SECRET'];
const text = `CardError: cannot charge ${planted.join(' with ')}`;

let bench: ApiBench;
let world: World;
beforeAll(async () => {
  bench = await openApi(byHeader, { exhausted: 'block-key' });
  world = await fillWhole(bench, text);
  // Wherever the database has an error, or could have one.
  const columns = await bench.lane.database.query<{ table: string; name: string }>(
    `select c.relname as table, a.attname as name from pg_attribute a join pg_class c on c.oid = a.attrelid
     where c.relnamespace = 'outbox'::regnamespace and c.relkind = 'r' and a.attname in ('last_error', 'error') and a.atttypid = 'text'::regtype`,
  );
  if (columns.length < 5) throw new Error('The columns of errors are not found.');
  for (const { name, table } of columns) {
    await bench.lane.database.query(`alter table outbox.${table} disable trigger user`);
    await bench.lane.database.query(`update outbox.${table} set ${name} = $1`, [text]);
  }
});
afterAll(async () => {
  await bench.drop();
});

async function firstEvents(path: string, as: Caller): Promise<string> {
  const stop = new AbortController();
  const response = await bench.api(
    new Request(`http://api.test${path}`, {
      headers: { 'x-test': JSON.stringify(as) },
      signal: stop.signal,
    }),
  );
  let read = '';
  const decoder = new TextDecoder();
  const body: ReadableStream<Uint8Array> | null = response.body;
  for await (const chunk of body ?? []) {
    read += decoder.decode(chunk, { stream: true });
    if (read.includes('\nid: ') || read.includes('event: status')) break;
  }
  stop.abort();
  return read;
}

/** Everything that this caller can read, by path. */
async function told(as: Caller): Promise<ReadonlyMap<string, string>> {
  const answers = new Map<string, string>();
  for (const path of await everyRead(bench.lane.database))
    answers.set(path, (await bench.get(path, { as })).text);
  for (const { path, query } of streamTable) {
    const asked = path + ('last' in query.shape ? '?last=100' : '');
    answers.set(asked, await firstEvents(asked, as));
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
  const telling = [...answers].filter(([, said]) => said.includes(text)).map(([path]) => path);
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
