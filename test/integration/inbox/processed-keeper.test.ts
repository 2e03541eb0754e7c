import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { PrismaClient } from '../../../dev/generated/shop/client.ts';
import { WindowKeeper, type WindowKeeperInput } from '../../../src/inbox/window/window-keeper.ts';
import { sqlOf, type Transaction } from '../../../src/store/database/transaction.ts';
import { forgetProcessed, markProcessed, readProcessed } from '../../../src/store/inbox/processed.ts';
import { dayMs, EpochFixture } from '../../support/fixtures/epoch-fixture.ts';
import { openTransaction } from '../../support/fixtures/open-transaction.ts';
import { openPrisma } from '../../support/fixtures/prisma.ts';
import { until } from '../../support/fixtures/until.ts';

let fixture: EpochFixture;
let prisma: PrismaClient;
/** Groups whose keepers have told of a failure, as often as they did. */
let failures: string[];
let errors: unknown[];
const started: { stop(): Promise<void> }[] = [];

beforeEach(async () => {
  fixture = await EpochFixture.create();
  prisma = openPrisma(fixture.url);
  failures = [];
  errors = [];
});
afterEach(async () => {
  for (const keeper of started.splice(0)) await keeper.stop();
  await prisma.$disconnect();
  await fixture.drop();
});

/** A keeper of a hurried consumer. */
async function start(
  group: string,
  windowMs: number,
  paces: WindowKeeperInput<Transaction>['paces'] = {},
): Promise<void> {
  const keeper = new WindowKeeper({
    client: prisma,
    group,
    windowMs,
    failed: (error) => {
      failures.push(group);
      errors.push(error);
    },
    paces: { roundMs: 50, againMs: 20, noteMs: 200, ...paces },
  });
  started.push(keeper);
  await keeper.start();
}

async function groups(): Promise<readonly unknown[]> {
  return fixture.database.query(
    'select consumer_group as name, window_ms::float8 as "windowMs" from outbox.consumer_group order by 1',
  );
}

test('a keeper notes its group, and ends and drops epochs, with the client of the handlers', async () => {
  await fixture.mark(['a']);
  await start('shop', 8 * dayMs);
  await start('mail', Number.POSITIVE_INFINITY);
  expect(await groups()).toEqual([
    { name: 'mail', windowMs: null },
    { name: 'shop', windowMs: 8 * dayMs },
  ]);
  await fixture.pass(100 * dayMs);
  const [before] = await fixture.database.query<{ at: string }>(
    'select max(seen_at)::text as at from outbox.consumer_group',
  );
  await until(async () => {
    const [row] = await fixture.database.query<{ later: boolean }>(
      'select min(seen_at) > $1::timestamptz as later from outbox.consumer_group',
      [before?.at],
    );
    return row?.later === true;
  });
  expect(await fixture.epochs()).toEqual([1]);

  // No group needs ids without end any more.
  await started.pop()?.stop();
  await fixture.database.query(`delete from outbox.consumer_group where consumer_group = 'mail'`);
  await until(async () => (await fixture.epochs()).includes(2));
  await fixture.pass(9 * dayMs);
  await until(async () => !(await fixture.epochs()).includes(1));
  expect(await fixture.mark(['a'])).toEqual(['a']);
  expect(failures).toEqual([]);
});

test('a failure is reported and tried again until a stop ends it', async () => {
  await fixture.mark(['a']);
  await fixture.database.query('alter table outbox.processed_epoch rename to hidden');
  await start('shop', 8 * dayMs);
  await until(() => failures.length >= 2);
  await fixture.database.query('alter table outbox.hidden rename to processed_epoch');
  await fixture.pass(3 * dayMs);
  await until(async () => (await fixture.epochs()).includes(2));

  await started[0]?.stop();
  const told = failures.length;
  await fixture.database.query('alter table outbox.processed_epoch rename to hidden');
  await start('mail', 8 * dayMs);
  await until(() => failures.filter((group) => group === 'mail').length >= 5);
  expect(failures.filter((group) => group === 'shop')).toHaveLength(told);
});

test('a transaction of Prisma notes, reads and forgets ids, with and without topics', async () => {
  await prisma.$transaction(async (tx) => {
    const sql = sqlOf(tx);
    expect(await markProcessed(sql, 'shop', ['a', 'b', 'a'], ['orders', null, 'orders'])).toEqual(
      new Set(['a', 'b']),
    );
    expect(await markProcessed(sql, 'shop', ['b', 'c'], [null, null])).toEqual(new Set(['c']));
    await forgetProcessed(sql, 'shop', ['c']);
  });
  await prisma.$transaction(async (tx) => {
    expect(await readProcessed(sqlOf(tx), 'shop', ['a', 'b', 'c'])).toEqual(new Set(['a', 'b']));
  });
  expect(
    await fixture.database.query('select message_id as id, topic from outbox.processed order by 1'),
  ).toEqual([
    { id: 'a', topic: 'orders' },
    { id: 'b', topic: null },
  ]);
});

test('keepers of many consumers end an epoch together, although handlers are always at work for a second', {
  tags: ['slow-handlers-hold-no-epochs'],
}, async () => {
  await fixture.mark(['a']);
  await fixture.pass(2.1 * dayMs);
  const stop = new AbortController();
  const handlers = [0, 300, 600].map(async (afterMs) => {
    await delay(afterMs);
    for (let n = 0; !stop.signal.aborted; n += 1)
      await fixture.database.transaction(async (sql) => {
        await fixture.mark([`${afterMs}-${n}`], 'g', sql);
        await delay(1_000);
      });
  });
  try {
    for (let n = 0; n < 6; n += 1) void start(`shop-${n}`, 8 * dayMs, { againMs: 200 });
    await until(async () => (await fixture.epochs()).includes(2), 90_000);
  } finally {
    stop.abort();
    await Promise.all(handlers);
  }
  expect(failures).toEqual([]);
});

test('a change of epochs is tried once a minute, however many keepers ask, and waits twice as long each time', {
  tags: ['slow-handlers-hold-no-epochs'],
}, async () => {
  await fixture.mark(['a']);
  await fixture.pass(2.1 * dayMs);
  const open = await openTransaction(fixture.url);
  await fixture.mark(['b'], 'g', open);
  const tries = () => fixture.database.query('select tries from outbox.processed_epoch');

  expect(await fixture.keep(8 * dayMs)).toMatchObject({ complete: false, failedTries: 0 });
  expect(await tries()).toEqual([{ tries: 1 }]);
  await Promise.all(Array.from({ length: 5 }, () => fixture.keep(8 * dayMs, { pauseMs: 60_000 })));
  expect(await tries()).toEqual([{ tries: 1 }]);
  expect(await fixture.keep(8 * dayMs)).toMatchObject({ complete: false, failedTries: 1 });
  expect(await tries()).toEqual([{ tries: 2 }]);
  await open.commit();
  await fixture.database.query('update outbox.processed_epoch set tries = 0');
  const patience: unknown[] = [];
  for (let n = 0; n < 7; n += 1)
    patience.push(
      ...(await fixture.database.query(
        'select outbox.begin_epoch_change(e, 300, 0) as ms from outbox.processed_epoch e',
      )),
    );
  expect(patience).toEqual([300, 600, 1_200, 2_400, 4_800, 5_000, 5_000].map((ms) => ({ ms })));
});

test('a keeper reports a change of epochs that was often tried in vain', async () => {
  await fixture.mark(['a']);
  await fixture.pass(2.1 * dayMs);
  const open = await openTransaction(fixture.url);
  await fixture.mark(['b'], 'g', open);
  await fixture.database.query('update outbox.processed_epoch set tries = 10');
  // Its first round has tried once more.
  const starting = start('shop', 8 * dayMs, { againMs: 50 });
  await until(() => failures.length > 0);
  await open.commit();
  await starting;

  expect(errors[0]).toMatchObject({ code: 'OUTBOX_WINDOW_LATE', details: { tries: 10 } });
  await until(async () => (await fixture.epochs()).includes(2));
});
