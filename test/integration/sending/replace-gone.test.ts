import { afterEach, beforeEach, expect, test } from 'vitest';
import { storeMessages } from '../../../src/store/message/write.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { untilLockWaits } from '../../support/fixtures/lock-waits.ts';
import { openTransaction } from '../../support/fixtures/open-transaction.ts';
import { until } from '../../support/fixtures/until.ts';

let made: TestDatabase;
beforeEach(async () => {
  made = await createTestDatabase();
  // Holds a sender up after its insert, also one that stored nothing.
  await made.database.query(
    `create function public.hold_up() returns trigger language plpgsql as
     $$ begin perform pg_advisory_lock(42); perform pg_advisory_unlock(42); return null; end $$`,
  );
  await made.database.query(
    'create trigger hold_up after insert on outbox.message for each statement execute function public.hold_up()',
  );
});
afterEach(() => made.drop());

const waiting = (payload: string) => ({ payload, ref: 'r', afterMs: 3_600_000 });

test('a replacement that met another message of its ref is stored although that one waits no longer', async () => {
  const { database, url } = made;
  const first = await openTransaction(url);
  const second = await openTransaction(url);
  const holding = await openTransaction(url);
  await storeMessages(first, 'searches', [waiting('"first"')]);
  await holding.query('select pg_advisory_xact_lock(42)');
  const replaced = storeMessages(second, 'searches', [{ ...waiting('"second"'), replace: true }]);
  await untilLockWaits(database, 1);
  await first.commit();
  // Until then it may still wait for the first one.
  await until(
    async () =>
      (
        await database.query(`select from pg_locks where locktype = 'advisory' and objid = 42 and not granted
        and database = (select oid from pg_database where datname = current_database())`)
      ).length > 0,
  );
  await database.query(`update outbox.message set state = 'canceled'`);
  await holding.commit();

  expect(await replaced).toMatchObject([{ state: 'waiting', refusal: null }]);
  await second.commit();
  expect(await database.query(`select payload, state from outbox.message order by position`)).toEqual([
    { payload: '"first"', state: 'canceled' },
    { payload: '"second"', state: 'waiting' },
  ]);
});
