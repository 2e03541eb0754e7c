import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Pool, type QueryResultRow } from 'pg';
import { startRelay } from 'temporal-outbox/relay';
import { inventoryUrl, shopUrl } from './databases.ts';
import { committed, kafkaAdmin, stored } from './deliveries.ts';
import inventoryConfig from './inventory/outbox.config.ts';
import { JavaInventory } from './inventory/start.ts';
import { placeOrder, takeAnswers } from './shop/orders.ts';
import shopConfig from './shop/outbox.config.ts';

const [apples, pears, pearsInStock] = [50, 10, 6];
const orders = apples + pears;
const deducted = apples + pearsInStock;
const shop = new Pool({ connectionString: shopUrl(), max: 15 });
const inventory = new Pool({ connectionString: inventoryUrl() });
await kafkaAdmin.connect();
await inventory.query(`insert into stock values ('apple', 1000), ('pear', $1)`, [pearsInStock]);

// Every message is in Kafka twice: the first relay dies before the database knows that they are there.
for (let n = 0; n < orders; n += 1) await placeOrder(shop, n < apples ? 'apple' : 'pear');
const doomed = fork('shop/doomed-relay.ts');
const [, doomedBy] = await once(doomed, 'exit');
assert.equal(doomedBy, 'SIGKILL');
// Your own relays are processes of their own: `temporal-outbox relay`.
const relays = [startRelay(shopConfig, { logger: false }), startRelay(inventoryConfig, { logger: false })];
await Promise.all(relays.map(({ ready }) => ready));
await until(async () => (await stored()) === 2 * orders);

// Pears are locked, so the Java program is stopped in the transaction of the first one, and killed there.
const locking = await inventory.connect();
await locking.query(`begin; select from stock where sku = 'pear' for update`);
const killed = new JavaInventory();
await until(
  async () =>
    (await numberOf(`pg_stat_activity where wait_event_type = 'Lock'
  and datname = current_database()`)) === 1,
);
assert.equal(await killed.end('SIGKILL'), 'SIGKILL');
await locking.query('rollback');
locking.release();
const before = await numberOf('processed_message');
const offsets = await committed();
assert.ok(offsets < before, `${before} are handled, and ${offsets} committed: the kill came too late`);

// Another one gets what the killed one had in hand, and everything else.
const answers = await takeAnswers(shop);
const running = new JavaInventory();
await until(async () => (await committed()) === 2 * orders);
await until(async () => (await shop.query(`select from orders where status = 'PLACED'`)).rowCount === 0);
await running.end('SIGTERM');
const { handled, repeats } = running.counts();
assert.equal(handled, orders - before);
assert.equal(repeats, 2 * orders - offsets - handled);

assert.deepEqual(await rows(inventory, 'select sku, pieces from stock order by sku'), [
  { sku: 'apple', pieces: 1000 - apples },
  { sku: 'pear', pieces: 0 },
]);
assert.equal(await numberOf('deduction'), deducted);
assert.equal(await numberOf('(select distinct order_id from deduction) as one'), deducted);
assert.equal(await numberOf(`outbox.message_all where topic = 'stock-answered'`), orders);
const statuses = 'select status, count(*)::int as n from orders group by status order by status';
assert.deepEqual(await rows(shop, statuses), [
  { status: 'CONFIRMED', n: deducted },
  { status: 'REJECTED', n: orders - deducted },
]);

await answers.stop();
await Promise.all(relays.map((relay) => relay.stop()));
await Promise.all([shop.end(), inventory.end(), kafkaAdmin.disconnect()]);
console.log(
  `java-inventory: ${orders} orders, all of them sent twice; Java killed after ${before} messages, of whose offsets ` +
    `${offsets} were committed; ${repeats} repeats dropped, ${deducted} deducted once, ${orders - deducted} rejected`,
);

async function rows(pool: Pool, sql: string): Promise<readonly QueryResultRow[]> {
  return (await pool.query(sql)).rows;
}

/** How many rows the inventory has of something. */
async function numberOf(what: string): Promise<number> {
  const [row] = await rows(inventory, `select count(*)::int as n from ${what}`);
  return Number(row?.['n']);
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 90_000; !(await condition()); await delay(100))
    if (Date.now() > deadline) throw new Error(`Waited in vain: ${condition}`);
}
