import { expect, test } from 'vitest';
import { z } from 'zod';
import { topic } from '../../../src/core/topic.ts';
import { send, sendBatch } from '../../../src/index.ts';
import { operations } from '../../../src/operations.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { ada } from '../../support/fixtures/operator.ts';
import { byPg, type RunTransaction } from '../../support/fixtures/transaction-ways.ts';

const first = topic('orders', z.object({ title: z.string() }));
const third = topic('orders', z.object({ name: z.string(), total: z.number() }), {
  version: 3,
  upcast: {
    1: (old) => ({ name: z.object({ title: z.string() }).parse(old).title }),
    2: (old) => ({ ...z.looseObject({}).parse(old), total: 0 }),
  },
});

let fixture: LaneFixture;
eachLane((made) => (fixture = made));

const inTransaction: RunTransaction = (work) => byPg(fixture.database)(work);
/** What each record in the broker's log says of its version. */
const published = () => fixture.broker.log.map(({ headers }) => headers['outbox-version'] ?? 'none');

test('a published message names the version in which it was sent, whatever version the relay has', async () => {
  await inTransaction(async (tx) => {
    await send(tx, first, { title: 'a' });
    await send(tx, third, { name: 'b', total: 1 }, { headers: { tenant: 'blue' } });
    await sendBatch(tx, third, [{ payload: { name: 'c', total: 1 } }]);
  });
  await fixture.drain();

  expect(published()).toEqual(['none', '3', '3']);
  expect(fixture.broker.log[1]?.headers).toMatchObject({ tenant: 'blue' });
});

test('callers in other languages name the version as a header of outbox.send', async () => {
  const { database } = fixture;
  await database.query(
    `select outbox.send('orders', '{}', headers => '{"outbox-version":"2","tenant":"blue"}')`,
  );
  await database.query(
    `select * from outbox.send_batch('orders', '[{"payload":"{}","headers":{"outbox-version":"1000000"}}]')`,
  );
  await fixture.drain();

  expect(published()).toEqual(['2', '1000000']);
});

test('SQL refuses an invalid version and every other reserved name', async () => {
  const refused = [
    '{"outbox-version":"0"}',
    '{"outbox-version":"01"}',
    '{"outbox-version":"1000001"}',
    '{"outbox-version":"10000000"}',
    '{"outbox-version":"2\\n"}',
    '{"outbox-version":"two"}',
    '{"outbox-version":2}',
    '{"outbox-versions":"2"}',
    '{"outbox-attempt":"2"}',
    '{"ce_id":"2"}',
    '{"content-type":"2"}',
  ];
  for (const headers of refused) {
    const sending = fixture.database.query(`select outbox.send('orders', '{}', headers => $1::text::jsonb)`, [
      headers,
    ]);
    await expect(sending, headers).rejects.toMatchObject({ code: 'OB002', detail: 'OUTBOX_HEADER_INVALID' });
  }
});

test('the headers with the version are refused beyond 32 KiB, and the transaction continues', async () => {
  // {"a": "x…", "outbox-version": "3"} has 32 bytes besides the letters.
  const headersOf = (bytes: number) => ({ headers: { a: 'x'.repeat(bytes - 32) } });

  await inTransaction(async (tx) => {
    const payload = { name: 'a', total: 1 };
    await expect(send(tx, third, payload, headersOf(32 * 1024 + 1))).rejects.toMatchObject({
      code: 'OUTBOX_HEADER_INVALID',
    });
    await send(tx, third, payload, headersOf(32 * 1024));
  });
  await fixture.drain();

  expect(published()).toEqual(['3']);
});

test('an edit keeps the version and checks the payload as consumers will', async () => {
  fixture.broker.judge = () => 'permanent';
  const { id } = await inTransaction((tx) => send(tx, first, { title: 'a' }));
  const { id: newer } = await inTransaction((tx) => send(tx, third, { name: 'b', total: 1 }));
  await fixture.drain();
  fixture.broker.judge = () => 'store';
  const operator = operations({ database: { url: fixture.url }, topics: [third] });

  const refused = { code: 'OUTBOX_PAYLOAD_INVALID' };
  await expect(operator.edit(id, { ...ada, payload: { name: 'a', total: 1 } })).rejects.toMatchObject(
    refused,
  );
  await expect(operator.edit(newer, { ...ada, payload: { title: 'b' } })).rejects.toMatchObject(refused);
  await operator.edit(id, { ...ada, payload: { title: 'A' }, headers: { why: 'bug' } });
  await operator.edit(newer, { ...ada, payload: { name: 'B', total: 1 }, headers: { why: 'bug' } });
  await operator.close();
  await fixture.drain();

  expect(fixture.broker.log.map(({ payload }) => payload)).toEqual([
    '{"title":"A"}',
    '{"name":"B","total":1}',
  ]);
  expect(published()).toEqual(['none', '3']);
});

test('an edit of a message whose version the topic cannot read is refused', async () => {
  fixture.broker.judge = () => 'permanent';
  const { id } = await inTransaction((tx) => send(tx, third, { name: 'b', total: 1 }));
  await fixture.drain();
  const operator = operations({ database: { url: fixture.url }, topics: [first] });

  await expect(operator.edit(id, { ...ada, payload: { title: 'b' } })).rejects.toMatchObject({
    code: 'OUTBOX_PAYLOAD_INVALID',
    message: expect.stringContaining('version 3'),
  });
  await operator.close();
});
