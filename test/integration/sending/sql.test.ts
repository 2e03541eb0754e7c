import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { states, transitions } from '../../../src/core/transitions.ts';
import type { Sql } from '../../../src/store/database/database.ts';
import { transitionGuard } from '../../../tools/states-page.mjs';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';

let made: TestDatabase;

beforeAll(async () => {
  made = await createTestDatabase();
});

afterAll(() => made.drop());

test('plain SQL sends, repeats, cancels and reschedules', async () => {
  const { database } = made;
  const [sent] = await database.query<{ id: string }>(
    `select * from outbox.send('plain', '{"a":1}', key => 'k', after => '15 minutes', ref => 'r', headers => '{"tenant":"blue"}')`,
  );
  expect(sent).toMatchObject({ state: 'waiting', duplicate: false, due_at: expect.any(Date) });
  const [again] = await database.query(
    `select * from outbox.send('plain', '{"a":1}', key => 'k', id => $1)`,
    [sent?.id],
  );
  expect(again).toEqual({ ...sent, duplicate: true });
  expect(
    await database.query(`select headers, payload from outbox.message where id = $1`, [sent?.id]),
  ).toEqual([{ headers: { tenant: 'blue' }, payload: '{"a":1}' }]);
  expect(
    await database.query(
      `select outbox.reschedule('plain', 'r', after => '1 hour') as a, outbox.reschedule('plain', 'x', after => '0') as b`,
    ),
  ).toEqual([{ a: 'rescheduled', b: 'unknown' }]);
  expect(
    await database.query(`select outbox.cancel('plain', 'r') as a, outbox.cancel('plain', 'x') as b`),
  ).toEqual([{ a: 'canceled', b: 'unknown' }]);
});

test('plain SQL sends a batch in its order', async () => {
  const stored = await made.database.query<{ id: string }>(
    `select id from outbox.send_batch('batch', (select jsonb_agg(jsonb_build_object('payload', i::text) order by i) from generate_series(1, 50) i))`,
  );
  const found = await made.database.query(
    `select id, payload from outbox.message where topic = 'batch' order by position`,
  );
  expect(found).toEqual(stored.map(({ id }, index) => ({ id, payload: String(index + 1) })));
});

const twice = randomUUID();
const refusals: readonly [what: string, code: string, sql: string][] = [
  ['a payload over the limit', 'OUTBOX_PAYLOAD_TOO_LARGE', `outbox.send('plain', repeat('x', 921601))`],
  ['no payload', 'OUTBOX_PAYLOAD_INVALID', `outbox.send('plain', null)`],
  ['an empty key', 'OUTBOX_KEY_INVALID', `outbox.send('plain', '1', key => '')`],
  ['a key of 257 bytes', 'OUTBOX_KEY_INVALID', `outbox.send('plain', '1', key => repeat('x', 257))`],
  ['an empty ref', 'OUTBOX_REF_INVALID', `outbox.send('plain', '1', ref => '')`],
  ['a list of headers', 'OUTBOX_HEADER_INVALID', `outbox.send('plain', '1', headers => '[1]')`],
  ['a header that is a number', 'OUTBOX_HEADER_INVALID', `outbox.send('plain', '1', headers => '{"a":1}')`],
  ['a header in capitals', 'OUTBOX_HEADER_INVALID', `outbox.send('plain', '1', headers => '{"A":"1"}')`],
  [
    'a reserved header',
    'OUTBOX_HEADER_INVALID',
    `outbox.send('plain', '1', headers => '{"outbox-attempt":"1"}')`,
  ],
  [
    'headers over 32 KiB',
    'OUTBOX_HEADER_INVALID',
    `outbox.send('plain', '1', headers => jsonb_build_object('a', repeat('x', 32768)))`,
  ],
  ['a delay over 400 days', 'OUTBOX_DELAY_OUT_OF_RANGE', `outbox.send('plain', '1', after => '401 days')`],
  ['the time infinity', 'OUTBOX_DELAY_OUT_OF_RANGE', `outbox.send('plain', '1', at => 'infinity')`],
  ['a topic with a slash', 'OUTBOX_TOPIC_INVALID', `outbox.send('a/b', '1')`],
  ['a payload that is not JSON', 'OUTBOX_PAYLOAD_INVALID', `outbox.send('plain', '{bad json')`],
  ['an empty payload', 'OUTBOX_PAYLOAD_INVALID', `outbox.send('plain', '')`],
  [
    'JSON nested deeper than the parser allows',
    'OUTBOX_PAYLOAD_INVALID',
    `outbox.send('plain', repeat('[', 400000))`,
  ],
  ['a negative delay', 'OUTBOX_DELAY_OUT_OF_RANGE', `outbox.send('plain', '1', after => '-5 minutes')`],
  ['the time -infinity', 'OUTBOX_DELAY_OUT_OF_RANGE', `outbox.send('plain', '1', at => '-infinity')`],
  ['a delay and a time', 'OUTBOX_OPTION_INVALID', `outbox.send('plain', '1', after => '1 s', at => now())`],
  ['a ref of 257 bytes', 'OUTBOX_REF_INVALID', `outbox.send('plain', '1', ref => repeat('x', 257))`],
  ['messages that are not a list', 'OUTBOX_OPTION_INVALID', `outbox.send_batch('plain', '{"payload":"1"}')`],
  ['a message that is not an object', 'OUTBOX_OPTION_INVALID', `outbox.send_batch('plain', '["1"]')`],
  [
    'an unknown option of a message',
    'OUTBOX_OPTION_INVALID',
    `outbox.send_batch('plain', '[{"payload":"1","after":"5 minutes"}]')`,
  ],
  [
    'invalid JSON in a batch',
    'OUTBOX_PAYLOAD_INVALID',
    `outbox.send_batch('plain', '[{"payload":"1"},{"payload":"{bad"}]')`,
  ],
  [
    'invalid JSON with another content type of JSON',
    'OUTBOX_PAYLOAD_INVALID',
    `outbox.send_batch('plain', '[{"payload":"{bad","contentType":"application/cloudevents+json; charset=utf-8"}]')`,
  ],
  [
    'a negative delay in a batch',
    'OUTBOX_DELAY_OUT_OF_RANGE',
    `outbox.send_batch('plain', '[{"payload":"1","afterMs":-1}]')`,
  ],
  [
    'a delay that is not a number',
    'OUTBOX_DELAY_OUT_OF_RANGE',
    `outbox.send_batch('plain', '[{"payload":"1","afterMs":"soon"}]')`,
  ],
  ['an invalid time', 'OUTBOX_OPTION_INVALID', `outbox.send_batch('plain', '[{"payload":"1","at":"soon"}]')`],
  [
    'an id that is not a UUID',
    'OUTBOX_ID_INVALID',
    `outbox.send_batch('plain', '[{"payload":"1","id":"42"}]')`,
  ],
  ['cancel by a ref of 257 bytes', 'OUTBOX_REF_INVALID', `outbox.cancel('plain', repeat('x', 257))`],
  ['cancel by an empty ref', 'OUTBOX_REF_INVALID', `outbox.cancel('plain', '')`],
  ['cancel without a ref or an id', 'OUTBOX_OPTION_INVALID', `outbox.cancel('plain')`],
  ['cancel by a ref and an id', 'OUTBOX_OPTION_INVALID', `outbox.cancel('plain', 'r', gen_random_uuid())`],
  ['cancel without a topic', 'OUTBOX_TOPIC_INVALID', `outbox.cancel(null, 'r')`],
  ['reschedule by an empty ref', 'OUTBOX_REF_INVALID', `outbox.reschedule('plain', '', after => '1 s')`],
  ['reschedule without a time', 'OUTBOX_OPTION_INVALID', `outbox.reschedule('plain', 'r')`],
  [
    'reschedule to before now',
    'OUTBOX_DELAY_OUT_OF_RANGE',
    `outbox.reschedule('plain', 'r', after => '-1 s')`,
  ],
  [
    'reschedule beyond the limit',
    'OUTBOX_DELAY_OUT_OF_RANGE',
    `outbox.reschedule('plain', 'r', after => '401 days')`,
  ],
  [
    'an id twice in one batch',
    'OUTBOX_ID_TAKEN',
    `outbox.send_batch('plain', '[{"payload":"1","id":"${twice}"},{"payload":"1","id":"${twice.toUpperCase()}"}]')`,
  ],
];

test.each(refusals)(
  'plain SQL raises OB002 for %s, with %s as the detail',
  { tags: ['sql-refuses-the-same'] },
  async (_what, code, sql) => {
    const before = await made.database.query('select count(*) from outbox.message');
    await expect(made.database.query(`select * from ${sql}`)).rejects.toMatchObject({
      code: 'OB002',
      detail: code,
    });
    expect(await made.database.query('select count(*) from outbox.message')).toEqual(before);
  },
);

test('plain SQL accepts any JSON, any type of value, and a past timestamp', async () => {
  const stored = await made.database.query<{ state: string }>(
    `select * from outbox.send('forms', '"\\u0000\\ud800"') union all select * from outbox.send('forms', ' null ')
     union all select * from outbox.send('forms', '1', at => now() - interval '1 day')
     union all select * from outbox.send('forms', '1', after => '0')
     union all select * from outbox.send_batch('forms', '[{"payload":"{bad","contentType":"text/plain"}, {"payload":{"a":1},"key":null}]')`,
  );
  expect(stored.map(({ state }) => state)).toEqual(Array.from({ length: 6 }, () => 'ready'));
});

test('a day of a delay has 24 hours, also across a change of the clocks', async () => {
  const [row] = await made.database.transaction(async (sql) => {
    await sql.query(`set local timezone = 'America/New_York'`);
    // 400 days of the calendar end an hour earlier: winter time begins them, summer time ends them.
    return sql.query(
      `select outbox.refusal('{"payload":"1"}', outbox.policy('plain'), at + interval '9600 hours', at) as longest,
         outbox.refusal('{"payload":"1"}', outbox.policy('plain'), at + interval '9600 hours 1 ms', at) ->> 'code' as longer
       from (select timestamptz '2026-02-20 12:00-05' as at) now_at`,
    );
  });
  expect(row).toEqual({ longest: null, longer: 'OUTBOX_DELAY_OUT_OF_RANGE' });
});

test('of all pairs of states the database accepts exactly the transitions of the table', {
  tags: ['only-legal-states'],
}, async () => {
  const legal = new Set(transitions.map(({ from, to }) => `${from} → ${to}`));
  const accepted = new Set<string>();
  for (const from of states) {
    for (const to of states) {
      if (from !== to && (await accepts(from, to))) accepted.add(`${from} → ${to}`);
    }
  }
  expect([...accepted].toSorted()).toEqual([...legal].toSorted());
});

test('the guard of the database is the one generated from the table', async () => {
  const guard = async (sql: Sql): Promise<unknown> =>
    sql.query(`select pg_get_triggerdef(oid) as text from pg_trigger where tgname = 'message_transition'`);
  const undo = new Error('undo');
  await made.database
    .transaction(async (sql) => {
      const installed = await guard(sql);
      await sql.query(transitionGuard(states, transitions));
      expect(await guard(sql)).toEqual(installed);
      throw undo;
    })
    .catch((error: unknown) => expect(error).toBe(undo));
});

/** Tries the change on a row that was put into the state past the trigger; undone in the end. */
async function accepts(from: string, to: string): Promise<boolean> {
  const undo = new Error('undo');
  const attempt = made.database.transaction(async (sql) => {
    const [sent] = await sql.query<{ id: string }>(`select id from outbox.send('pairs', '1')`);
    await sql.query('select outbox.take_out(array[$1::uuid])', [sent?.id]);
    await sql.query('set local session_replication_role = replica');
    await sql.query(`update outbox.message set state = $2 where id = $1`, [sent?.id, from]);
    await sql.query('set local session_replication_role = origin');
    const changed = await sql.query(`update outbox.message set state = $2 where id = $1 returning id`, [
      sent?.id,
      to,
    ]);
    expect(changed).toHaveLength(1);
    throw undo;
  });
  const failure = await attempt.catch((error: unknown) => error);
  if (failure === undo) return true;
  expect(failure).toMatchObject({ code: 'OB001', message: `outbox: ${from} cannot become ${to}` });
  return false;
}

/** Inserts a message that begins in the state. */
async function begin(state: string): Promise<unknown> {
  return made.database.query(
    `insert into outbox.message (id, topic, lane, payload, state, workflow_id) values (gen_random_uuid(), 'begin', 0, '1', $1, 'w')`,
    [state],
  );
}

test.each(['ready', 'waiting'])('a message can begin as %s', async (state) => {
  await expect(begin(state)).resolves.toEqual([]);
});

test.each(states.filter((state) => state !== 'ready' && state !== 'waiting'))(
  'a message cannot begin as %s',
  async (state) => {
    await expect(begin(state)).rejects.toMatchObject({ code: 'OB001' });
  },
);

test('an id is a UUID of version 7 with its creation time, and ids of later statements are greater', async () => {
  const { database } = made;
  const clock = '(extract(epoch from clock_timestamp()) * 1000)::float8';
  const seen: { id: string; before: number; after: number }[] = [];
  for (let round = 0; round < 20; round += 1) {
    const [row] = await database.query<{ id: string; before: number; after: number }>(
      `select ${clock} as before, outbox.uuid_v7()::text as id, ${clock} as after, pg_sleep(0.003)`,
    );
    if (row !== undefined) seen.push(row);
  }
  for (const { id, before, after } of seen) {
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const ms = Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
    // By the millisecond, rounded either way.
    expect(ms).toBeGreaterThan(before - 1);
    expect(ms).toBeLessThan(after + 1);
  }
  const ids = seen.map(({ id }) => id);
  expect(ids).toEqual(ids.toSorted());
});

test('10,000 ids differ and use every random bit', async () => {
  const rows = await made.database.query<{ id: string }>(
    `select outbox.uuid_v7()::text as id from generate_series(1, 10000)`,
  );
  expect(new Set(rows.map(({ id }) => id)).size).toBe(10_000);
  const parts = rows.map(({ id }) => BigInt(`0x${id.replaceAll('-', '')}`));
  const set = parts.reduce((all, id) => all | id, 0n);
  const kept = parts.reduce((all, id) => all & id, (1n << 128n) - 1n);
  // 12 bits after the version and 62 after the variant.
  const random = (0xfffn << 64n) | ((1n << 62n) - 1n);
  expect(set & random).toBe(random);
  expect(kept & random).toBe(0n);
});
