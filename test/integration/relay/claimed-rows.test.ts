import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Claim, claim } from '../../../src/store/lane/claim.ts';
import { acquireLane } from '../../../src/store/lane/lease.ts';
import type { NewMessage } from '../../../src/store/message/new-message.ts';
import { storeMessages } from '../../../src/store/message/write.ts';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';

const owner = randomUUID();

let fixture: LaneFixture;
beforeAll(async () => {
  fixture = await laneFixture();
  await acquireLane(fixture.database, fixture.lane, owner);
});
afterAll(() => fixture.drop());

const claimFrom = (
  cursor: string,
  overrides: { readonly limit?: number; readonly bytes?: number; readonly suspect?: string } = {},
) =>
  claim(fixture.database, fixture.lane, {
    owner,
    cursor,
    snapshot: '999999999:999999999:',
    limit: 100,
    bytes: 1_000_000,
    failedBlocks: false,
    suspect: null,
    ...overrides,
  });

/** The position behind all that is stored. */
async function end(): Promise<string> {
  const [row] = await fixture.database.query<{ position: string }>(
    'select coalesce(max(position), 0)::text as position from outbox.message',
  );
  return row?.position ?? '0';
}

const text = fc.string({ unit: 'grapheme', maxLength: 40 }).map((any) => any.replaceAll('\u0000', ''));
const message: fc.Arbitrary<NewMessage> = fc
  .record(
    {
      payload: fc.oneof(
        text.map((any) => JSON.stringify(any)),
        fc.json(),
      ),
      key: text.filter((any) => any !== ''),
      headers: fc.dictionary(fc.constantFrom('traceparent', 'tenant', 'x-ž'), text),
      contentType: fc.constantFrom('application/json', 'application/cloudevents+json'),
    },
    { requiredKeys: ['payload'] },
  )
  .map(({ payload, key, headers, contentType }) => ({
    payload,
    ...(key !== undefined && { key }),
    ...(headers !== undefined && { headers }),
    ...(contentType !== undefined && { contentType }),
  }));

test('a claim returns messages as they were stored, whatever their characters, keys and headers', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 8 }), async (messages) => {
      const cursor = await end();
      const stored = await storeMessages(fixture.database, fixture.topic, messages);
      fc.pre(stored.every(({ refusal }) => refusal === null));

      const { messages: claimed } = await claimFrom(cursor);

      const times = await fixture.database.query<{ at: string }>(
        `select to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at from outbox.message
         where position > $1 order by position`,
        [cursor],
      );
      expect(claimed).toEqual(
        messages.map(({ payload, key, headers, contentType }, n) => ({
          id: stored[n]?.id,
          position: String(BigInt(cursor) + BigInt(n) + 1n),
          key: key ?? null,
          payload,
          contentType: contentType ?? 'application/json',
          headers: headers ?? null,
          ownWorkflow: null,
          attempts: 0,
          createdAt: times[n]?.at,
          dueAtMs: null,
          resent: false,
          blocked: false,
          suspect: false,
          expiresAt: null,
          expiresBy: null,
        })),
      );
    }),
    { numRuns: 60 },
  );
});

test('only a message with a workflow of its own names it', async () => {
  const cursor = await end();
  await fixture.send('lane');
  await fixture.send('own', { afterMs: 60_000 });
  await fixture.release('own');

  const { messages } = await claimFrom(cursor);

  const [row] = await fixture.database.query<{ workflowId: string }>(
    'select workflow_id as "workflowId" from outbox.message where id = $1',
    [fixture.idOf('own')],
  );
  expect(messages.map(({ ownWorkflow }) => ownWorkflow)).toEqual([null, row?.workflowId]);
});

test('a claim tells the time of the database, and when a message was due that had to wait', async () => {
  const cursor = await end();
  await fixture.send('at once');
  await fixture.send('later', { afterMs: 60_000 });
  await fixture.release('later');

  const { at, messages } = await claimFrom(cursor);

  const [row] = await fixture.database.query<{ due: number; now: number }>(
    `select floor(extract(epoch from due_at) * 1000)::float8 as due, (extract(epoch from outbox.clock()) * 1000)::float8 as now
     from outbox.message where id = $1`,
    [fixture.idOf('later')],
  );
  expect(messages.map(({ dueAtMs }) => dueAtMs)).toEqual([null, row?.due]);
  expect(Math.abs((at ?? 0) - (row?.now ?? 0))).toBeLessThan(60_000);
});

test('a message that a dead owner may have published is claimed with its content type', async () => {
  const cursor = await end();
  await fixture.send('in the log');
  await fixture.send('beside it', { contentType: 'application/cloudevents+json' });

  const { messages } = await claimFrom(cursor, { suspect: '999999999:999999999:' });

  expect(messages.map(({ suspect, contentType }) => [suspect, contentType])).toEqual([
    [true, 'application/json'],
    [true, 'application/cloudevents+json'],
  ]);
});

test('a claim reports unread rows at either limit, and only then', async () => {
  const cursor = await end();
  for (const label of ['a', 'b', 'c']) await fixture.send(label);
  const told = ({ truncated, messages }: Claim) => [truncated, messages.length];

  expect(told(await claimFrom(cursor))).toEqual([false, 3]);
  expect(told(await claimFrom(cursor, { limit: 4 }))).toEqual([false, 3]);
  expect(told(await claimFrom(cursor, { limit: 3 }))).toEqual([true, 3]);
  expect(told(await claimFrom(cursor, { limit: 2 }))).toEqual([true, 2]);
  // Three bytes each.
  expect(told(await claimFrom(cursor, { bytes: 7 }))).toEqual([false, 3]);
  expect(told(await claimFrom(cursor, { bytes: 6 }))).toEqual([true, 2]);
  expect(told(await claimFrom(cursor, { bytes: 1 }))).toEqual([true, 1]);
});

test('headers count towards the bytes of a claim as stored', { tags: ['batch-within-memory'] }, async () => {
  const cursor = await end();
  // {"a": "ž"}: 11 bytes as text, however the row keeps them; payloads of three.
  for (const label of ['a', 'b', 'c']) await fixture.send(label, { headers: { a: 'ž' } });

  expect((await claimFrom(cursor, { bytes: 29 })).messages).toHaveLength(3);
  expect((await claimFrom(cursor, { bytes: 28 })).messages).toHaveLength(2);
  const large = await end();
  for (let n = 0; n < 4; n += 1) await fixture.send('d', { headers: { a: 'x'.repeat(32_000) } });
  expect((await claimFrom(large, { bytes: 65_536 })).messages).toHaveLength(3);
});
