import { SpanStatusCode } from '@opentelemetry/api';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { MemoryInbox } from '../../support/fixtures/memory-inbox.ts';
import { openTransaction } from '../../support/fixtures/open-transaction.ts';
import { recordSpans } from '../../support/fixtures/recorded-spans.ts';

const { named } = recordSpans();
const lock = 4711;
let inbox: MemoryInbox;

beforeEach(async () => {
  inbox = await MemoryInbox.create();
  for (const statement of [
    'create table refusal (n int)',
    `create function judge() returns trigger language plpgsql as $$ begin
       perform pg_advisory_xact_lock_shared(${lock});
       if exists (select from refusal r where r.n = new.n) then raise exception 'refused at the commit'; end if;
       return null;
     end $$`,
    `create constraint trigger judged after insert on effect deferrable initially deferred
       for each row execute function judge()`,
  ])
    await inbox.database.query(statement);
});

afterEach(() => inbox.end());

/** Ids of its trace and of its sender are made of a number. */
const traced = (n: number) => ({
  n,
  key: 'a',
  headers: {
    ce_id: `id-${n}`,
    ce_type: 'numbers',
    traceparent: `00-${String(n).padStart(32, '0')}-${String(n).padStart(16, '0')}-01`,
  },
});

async function waitsAtCommit(): Promise<boolean> {
  const rows = await inbox.database.query(
    `select from pg_locks where locktype = 'advisory' and objid = $1 and not granted
       and database = (select oid from pg_database where datname = current_database())`,
    [lock],
  );
  return rows.length > 0;
}

test.for([
  [false, [1]],
  [true, [2, 3]],
] as const)(
  'the span of a handler ends after the commit of its effects, and is an error if the commit fails (in batches: %s)',
  { tags: ['trace-leads-to-effect'] },
  async ([inBatches, numbers]) => {
    const ofTrace = () => named('process numbers').slice(before);
    const before = named('process numbers').length;
    await inbox.database.query('insert into refusal values ($1)', [numbers[0]]);
    const held = await openTransaction(inbox.url);
    await held.query(`select pg_advisory_xact_lock(${lock})`);
    const running = await inbox.consume({
      inBatches,
      ...(inBatches && { batch: { size: 10 } }),
      quickRetries: Array.from({ length: 50 }, () => 50),
    });

    inbox.feed(...numbers.map(traced));
    await expect.poll(waitsAtCommit, { timeout: 20_000 }).toBe(true);
    expect(ofTrace(), 'the handler has ended, and its transaction has not').toEqual([]);

    await held.commit();
    await expect.poll(() => ofTrace().length, { timeout: 20_000 }).toBeGreaterThan(0);
    const [failed] = ofTrace();
    expect(failed?.status.code).toBe(SpanStatusCode.ERROR);
    expect(failed?.attributes['error.type']).toEqual(expect.any(String));
    expect(failed?.links).toHaveLength(numbers.length);

    await inbox.database.query('delete from refusal');
    await expect.poll(() => running.counts().handled, { timeout: 20_000 }).toBe(numbers.length);
    expect(ofTrace().filter(({ status }) => status.code !== SpanStatusCode.ERROR)).toHaveLength(
      numbers.length,
    );
    expect(await inbox.effects()).toEqual(numbers);
  },
);

test('a message that is parked only behind its key is handled in a span that links to that of its arrival', {
  tags: ['trace-leads-to-effect'],
}, async () => {
  let open = false;
  const running = await inbox.consume({
    quickRetries: [],
    retry: Array.from({ length: 50 }, () => '1s' as const),
    before: () => {
      if (!open) throw new Error('not yet');
    },
  });
  inbox.feed(traced(4), traced(5));
  await expect.poll(() => running.counts().parked, { timeout: 20_000 }).toBe(2);

  const [parked, ...others] = named('park numbers');
  expect(others, 'the first has a span of its try').toEqual([]);
  expect(parked?.parentSpanContext).toMatchObject({ spanId: '5'.padStart(16, '0'), isRemote: true });
  expect(parked?.attributes['messaging.message.id']).toBe('id-5');

  open = true;
  await expect.poll(() => running.counts().handled, { timeout: 30_000 }).toBe(2);
  const later = named('process numbers').filter(
    ({ attributes }) => attributes['messaging.message.id'] === 'id-5',
  );
  expect(later.map(({ links }) => links.map(({ context }) => context.spanId))).toEqual([
    ['5'.padStart(16, '0'), parked?.spanContext().spanId],
  ]);
});
