import { afterAll, beforeAll, expect, test } from 'vitest';
import { streamTable } from '../../../src/api/live/streams.ts';
import { operationTable } from '../../../src/api/table/table.ts';
import { beginTry } from '../../../src/store/inbox/tries.ts';
import { type ApiBench, byHeader, openApi, vera } from './api-bench.ts';
import { everyRead, fillWhole, keeping } from './full-world.ts';

let bench: ApiBench;
beforeAll(async () => {
  bench = await openApi(byHeader, { exhausted: 'block-key' });
  await fillWhole(bench);
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

test.each(streamTable.map(({ path, query }) => path + ('last' in query.shape ? '?last=100' : '')))(
  'the stream %s tells all of it, and locks no row',
  async (path) => {
    const before = await versions();
    const stop = new AbortController();
    const response = await bench.api(
      new Request(`http://api.test${path}`, {
        headers: { 'x-test': JSON.stringify(vera) },
        signal: stop.signal,
      }),
    );
    let text = '';
    const decoder = new TextDecoder();
    const body: ReadableStream<Uint8Array> | null = response.body;
    for await (const chunk of body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      if (text.includes('\nevent: ')) break;
    }
    stop.abort();
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
