import { expect, test } from 'vitest';
import { createRelayBulkRunner } from '../../../src/relay/bulk.ts';
import type { Database, Sql } from '../../../src/store/database/database.ts';
import { ownLane } from '../../support/fixtures/lane-fixture.ts';
import { ada, ownOperator } from '../../support/fixtures/operator.ts';

const bound = 8 * 1_048_576;

/** What one statement sent to the server, or got from it. */
interface Held {
  readonly bytes: number;
  readonly payloads: number;
}

/** A database that notes the payloads of each statement in a transaction. */
function noting(database: Database, held: Held[]): Database {
  const note = (texts: readonly unknown[]): void => {
    const payloads = texts.filter((text): text is string => typeof text === 'string');
    held.push({
      bytes: payloads.reduce((sum, text) => sum + text.length, 0),
      payloads: payloads.join('').split('"filler"').length - 1,
    });
  };
  return {
    query: (text, values, repeated) => database.query(text, values, repeated),
    openSession: (channel, onNotify) => database.openSession(channel, onNotify),
    close: () => Promise.resolve(),
    transaction: (work) =>
      database.transaction((sql) =>
        work({
          async query<Row>(text: string, values?: readonly unknown[]) {
            note(values ?? []);
            const rows = await sql.query<Row>(text, values);
            note(rows.flatMap((row) => Object.values(row as Record<string, unknown>)));
            return rows;
          },
        } satisfies Sql),
      ),
  };
}

test('a page of large messages is read and stored in parts, in the order of their positions', {
  tags: ['replay-once-in-order'],
}, async () => {
  const fixture = await ownLane();
  const operator = ownOperator(fixture);
  const { database } = fixture;
  await database.query('update outbox.topic set payload_limit_bytes = 10485760');
  // The tenth alone is beyond the bound of a part.
  await database.query(
    `insert into outbox.message (id, topic, lane, payload, state, workflow_id)
     select gen_random_uuid(), 'orders', 0, format('{"n":%s,"filler":"%s"}', g, repeat('x', case g when 10 then 9437184 else 921600 end)),
       'ready', '' from generate_series(1, 20) g`,
  );
  await database.query(`update outbox.message set state = 'failed', last_error = 'no'`);
  const { id } = await operator.bulk.start(
    { topic: 'orders', states: ['failed'] },
    { action: 'replay' },
    ada,
  );
  const held: Held[] = [];
  const runner = createRelayBulkRunner(noting(database, held), () => undefined);

  const answer = await runner.runPage(id ?? '', () => undefined);

  expect(answer).toMatchObject({ kind: 'ended', state: 'done', counts: { replayed: 20 } });
  const parts = held.filter(({ payloads }) => payloads > 0);
  expect(parts.filter(({ bytes, payloads }) => bytes > bound && payloads > 1)).toEqual([]);
  // Each is read, and stored.
  expect(parts.map(({ payloads }) => payloads)).toEqual([9, 9, 1, 1, 9, 9, 1, 1]);
  const copies = await database.query<{ readonly n: number }>(
    `select (c.payload::jsonb ->> 'n')::integer as n from outbox.message_all c join outbox.message_all o on o.payload = c.payload
     where c.headers ->> 'outbox-replay-of' = o.id::text order by c.position`,
  );
  expect(copies.map(({ n }) => n)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
});
