import pg from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createBulkRunner } from '../../../src/bulk/bulk-runner.ts';
import { InboxTransactions, transactionsOf } from '../../../src/inbox/inbox-transactions.ts';
import { clientOf } from '../../../src/index.ts';
import { type Operations, operations } from '../../../src/operations.ts';
import { expectKeptOnce, keepFailed } from '../../support/fixtures/kept-bulk.ts';
import { MemoryInbox } from '../../support/fixtures/memory-inbox.ts';
import { openTransaction } from '../../support/fixtures/open-transaction.ts';
import { ada } from '../../support/fixtures/operator.ts';

let inbox: MemoryInbox;
let operator: Operations;
let pool: pg.Pool;

beforeEach(async () => {
  inbox = await MemoryInbox.create();
  operator = operations({ database: { url: inbox.url } });
  pool = new pg.Pool({
    connectionString: inbox.url,
    types: { getTypeParser: () => (text: unknown) => text },
  });
});

afterEach(async () => {
  await pool.end();
  await operator.close();
  await inbox.end();
});

test.each(['retry', 'discard'] as const)(
  'through a client that leaves every value as text, a bulk %s answers for each kept message once',
  async (action) => {
    const errors: unknown[] = [];
    const ids = await keepFailed(inbox, 3, 2);
    const { bulk } = operator.inbox;
    const { id } = await bulk.start({ group: inbox.group, states: ['failed'] }, { action }, ada);
    const runner = createBulkRunner({
      database: transactionsOf(new InboxTransactions(clientOf(pool), undefined)),
      ended: () => undefined,
      failed: (error) => errors.push(error),
    });
    const holder = await openTransaction(inbox.url);
    await holder.query('select from outbox.parked where message_id = $1 for update', [ids[2]]);

    expect(await runner.runPage(String(id), () => undefined)).toMatchObject({ kind: 'more' });
    await holder.rollback();
    expect(await runner.runPage(String(id), () => undefined)).toMatchObject({ kind: 'ended', state: 'done' });

    expect(errors).toEqual([]);
    const result = { retry: 'retried', discard: 'discarded' }[action];
    expect(await bulk.show(String(id))).toMatchObject({ counts: { [result]: 3 }, pending: 0 });
    await expectKeptOnce(inbox, String(id), ids);
    const kinds = await inbox.database.query<{ kind: string }>(
      `select distinct jsonb_typeof(details) as kind from outbox.audit where bulk_id = $1 and inbox_id is not null`,
      [id],
    );
    expect(kinds).toEqual([{ kind: 'object' }]);
  },
);
