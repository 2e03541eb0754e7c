import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { send } from '../../src/outbox/send.ts';
import { fromQuery } from '../../src/store/database/transaction.ts';
import { judgeLedger, kept, repeats } from '../support/fixtures/ledger.ts';
import { startLedgerLoad } from '../support/fixtures/ledger-load.ts';
import { openTransaction } from '../support/fixtures/open-transaction.ts';
import { numbered, openStage, type Stage } from '../support/fixtures/stage.ts';
import { until } from '../support/fixtures/until.ts';

const orders = numbered('orders');
const openMs = 5_000;

test('I1 I3 I11 F05: a transaction that stays open with a lower position, with another one idle elsewhere, delays no other key', {
  tags: ['order-per-key'],
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
  const openedAt = await now(stage);
  const before = await stage.arrived();
  await Promise.all([delay(openMs), until(async () => (await stage.arrived()) > before + 500, 60_000)]);
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

  const closedAt = await now(stage);
  await gap.commit();
  slow.answer = 'committed';
  const hasArrived = async (id: string): Promise<boolean> =>
    (await stage.journal()).some((entry) => entry.id === id);
  await until(() => hasArrived(slow.id));
  const next = load.ledger.note({ id: randomUUID(), key: 'slow', n: 2, afterMs: 0 });
  await stage.commit((other) => send(other, orders, { n: 2 }, { id: next.id, key: 'slow' }));
  next.answer = 'committed';
  await until(() => hasArrived(next.id));
  // Until now it was open, and neither of them has waited for it.
  await idle.rollback();
  const ledger = await load.stop();
  await until(async () => (await stage.arrived()) >= ledger.count('committed'), 90_000);

  const journal = await stage.journal();
  expect(judgeLedger(ledger, journal)).toEqual(kept);
  expect(repeats(journal)).toBe(0);
  const arrivals = await stage.database.query<{ createdAt: number; arrivedAt: number }>(
    `select extract(epoch from m.created_at)::float8 * 1000 as "createdAt",
       extract(epoch from p.at)::float8 * 1000 as "arrivedAt"
     from published p join outbox.message m on m.id = p.id where m.id <> $1`,
    [slow.id],
  );
  const waited = arrivals
    .filter(({ createdAt }) => createdAt > openedAt && createdAt < openedAt + openMs / 2)
    .filter(({ arrivedAt }) => arrivedAt > closedAt);
  expect(waited, 'nobody waited for the gap to close').toEqual([]);
});

/** Milliseconds since the epoch, by the clock of the server. */
async function now(stage: Stage): Promise<number> {
  const [row] = await stage.database.query<{ ms: number }>(
    'select extract(epoch from clock_timestamp())::float8 * 1000 as ms',
  );
  return row?.ms ?? Number.NaN;
}
