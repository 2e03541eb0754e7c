import { expect, test } from 'vitest';
import {
  type KeptBulkFilter,
  type SelectedKept,
  selectKeptPage,
} from '../../../src/store/bulk/kept-selection.ts';
import { walkStart } from '../../../src/store/bulk/walk.ts';
import type { Sql } from '../../../src/store/database/database.ts';
import { listKept } from '../../../src/store/inbox/list.ts';
import { readKeptAudit, readKeptMessage } from '../../../src/store/inbox/show.ts';
import { createTestDatabase } from '../../support/fixtures/database.ts';
import { fullScansOf, pagesOf, planNodes, statementOf } from '../../support/fixtures/query-plan.ts';

const kept = 50_000;

/** What a bulk operation on messages in these states reads. */
function selectionOf(states: KeptBulkFilter['states'], key?: string): SelectedKept {
  const filter = { group: 'shop', states, ...(key !== undefined && { key }) };
  return { filter, selectedUntil: new Date(Date.now() + 60_000).toISOString() };
}

test('lists, walks and single messages read little more than their rows among 50,000 kept ones', async ({
  onTestFinished,
}) => {
  const made = await createTestDatabase();
  onTestFinished(() => made.drop());
  await made.database.query(
    `insert into outbox.parked (consumer_group, message_id, state, topic, key, address, partition, "offset", wire, sent_at)
     select case when g % 100 = 0 then 'other' else 'shop' end, 'm-' || g, 'failed', 'orders', 'k' || g % 500, 'a', 0, g, '{}', now()
     from generate_series(1, $1::integer) g`,
    [kept],
  );
  const plan = async (work: (sql: Sql) => Promise<unknown>) => {
    const { text, values } = await statementOf(work);
    return planNodes(made.database, text, values);
  };
  const after = { position: '25000', id: 'm-25000' };
  await made.database.query(
    `with k as (insert into outbox.parked_key (consumer_group, topic, key, workflow_id, next_at)
       values ('shop', 'orders', 'k7', 'w', now() + interval '1 h') returning id)
     update outbox.parked p set state = 'parked', key_id = k.id from k where p.key = 'k7'`,
  );
  await made.database.query('analyze outbox.parked');
  const plans = {
    all: await plan((sql) => listKept(sql, {}, 50, null)),
    later: await plan((sql) => listKept(sql, { group: 'shop' }, 50, after)),
    walk: await plan((sql) => selectKeptPage(sql, selectionOf(['parked', 'failed']), after, 100)),
    'walk of failed': await plan((sql) => selectKeptPage(sql, selectionOf(['failed']), after, 100)),
    show: await plan((sql) => readKeptMessage(sql, { group: 'shop', id: 'm-7' })),
    audit: await plan((sql) => readKeptAudit(sql, { group: 'shop', id: 'm-7' })),
  };
  for (const [name, nodes] of Object.entries(plans)) {
    expect(pagesOf(nodes), name).toBeLessThan(300);
    if (['all', 'later', 'walk', 'walk of failed'].includes(name))
      expect(fullScansOf(nodes), name).toEqual([]);
  }

  // A search reads 20,000 rows at a time, and finds each that matches once.
  const searched = selectionOf(['parked', 'failed'], 'k7');
  const ids: string[] = [];
  const lengths: number[] = [];
  let cursor = walkStart;
  for (;;) {
    const page = await selectKeptPage(made.database, searched, cursor, 1_000);
    ids.push(...page.ids);
    lengths.push(page.ids.length);
    if (page.next === null) break;
    cursor = page.next;
  }
  // Of 20,000 rows every 500th matches, but for those of the other group among them.
  expect(lengths).toEqual([41, 40, 19]);
  expect(new Set(ids).size).toBe(kept / 500);
});
