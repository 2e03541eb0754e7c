import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { send } from '../../src/outbox/send.ts';
import { fromQuery } from '../../src/store/transaction.ts';
import { judgeLedger, kept, repeats } from '../support/ledger.ts';
import { startLedgerLoad } from '../support/ledger-load.ts';
import { openTransaction } from '../support/open-transaction.ts';
import { numbered, openStage } from '../support/stage.ts';
import { until } from '../support/until.ts';

const orders = numbered('orders');
const openMs = 5_000;
const idleMs = 8_000;

test('I1 I3 I11 F05: a transaction that stays open with a lower position, beside one idle elsewhere, keeps no other key waiting', {
  timeout: 60_000,
}, async (context) => {
  const stage = await openStage(context, { topics: [orders] });
  await stage.relay();
  await stage.database.query('create table elsewhere (n integer)');
  const load = startLedgerLoad(stage, orders, { seed: 5, perSecond: 300 });
  await stage.untilArrived(50);

  // It has an xid, so that no snapshot of the next seconds can pass it.
  const idle = await openTransaction(stage.url);
  await idle.query('insert into elsewhere values (1)');
  const gap = await openTransaction(stage.url);
  const tx = fromQuery((text, values) => gap.query(text, values));
  const slow = load.ledger.note({ id: randomUUID(), key: 'slow', n: 1, afterMs: 0 });
  await send(tx, orders, { n: 1 }, { id: slow.id, key: 'slow' });
  const openedAt = performance.now();
  const before = await stage.arrived();
  await delay(openMs);
  expect(await stage.arrived(), 'others went on meanwhile').toBeGreaterThan(before + 500);
  expect((await stage.journal()).filter(({ id }) => id === slow.id)).toEqual([]);
  const [lane] = await stage.database.query<{ cursor: string }>(
    'select cursor from outbox.lane where topic = $1',
    [orders.name],
  );
  const [row] = await gap.query<{ position: string }>('select position from outbox.message where id = $1', [
    slow.id,
  ]);
  expect(BigInt(lane?.cursor ?? 0), 'the cursor has passed the gap').toBeGreaterThan(
    BigInt(row?.position ?? 0),
  );

  await gap.commit();
  slow.answer = 'committed';
  const committedAt = performance.now();
  await until(async () => (await stage.journal()).some(({ id }) => id === slow.id));
  expect(performance.now() - committedAt).toBeLessThan(1_000);
  const next = load.ledger.note({ id: randomUUID(), key: 'slow', n: 2, afterMs: 0 });
  await stage.commit((other) => send(other, orders, { n: 2 }, { id: next.id, key: 'slow' }));
  next.answer = 'committed';
  await delay(Math.max(0, openedAt + idleMs - performance.now()));
  await idle.rollback();
  const ledger = await load.stop();
  await until(async () => (await stage.arrived()) >= ledger.count('committed'));

  const journal = await stage.journal();
  expect(judgeLedger(ledger, journal)).toEqual(kept);
  expect(repeats(journal)).toBe(0);
  const [late] = await stage.database.query<{ mostMs: number; maxMs: number }>(
    `select percentile_cont(0.95) within group (order by ms) as "mostMs", max(ms) as "maxMs"
     from (select extract(epoch from p.at - m.created_at)::float8 * 1000 as ms
       from published p join outbox.message m on m.id = p.id where m.id <> $1) arrival`,
    [slow.id],
  );
  expect(late?.mostMs).toBeLessThan(1_000);
  // A machine that is busy otherwise may add to a single one, but nobody waited for the gap to close.
  expect(late?.maxMs).toBeLessThan(openMs / 2);
});
