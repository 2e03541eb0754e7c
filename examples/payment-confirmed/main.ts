import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { operations } from 'temporal-outbox/operations';
import { redisFilter } from 'temporal-outbox/redis';
import { startRelay } from 'temporal-outbox/relay';
import { kafka } from 'temporal-outbox/transports';
import { flawsByHand } from './flaws.ts';
import { ledger, ledgerDatabase } from './ledger.ts';
import { losingBroker, losingReceipts } from './losing-broker.ts';
import { mailbox } from './mailbox.ts';
import config from './outbox.config.ts';
import { pay, paymentsDatabase } from './payments.ts';
import { tellPerson } from './tell-person.ts';
import { until } from './until.ts';

const brokers = process.env['KAFKA_BROKERS'] ?? 'localhost:9092';
const sessionTimeout = '6s';
const payments = paymentsDatabase();
const books = ledgerDatabase();
const outbox = operations(config);
const accounting = await mailbox();
const broker = await losingBroker(kafka({ servers: brokers, consumers: { sessionTimeout } }), brokers);
const relay = startRelay(
  { ...config, transports: { kafka: broker.transport } },
  { logger: false, report: tellPerson(outbox, accounting) },
);
const doomed = fork('doomed-ledger.ts');
const died = once(doomed, 'exit');
await Promise.all([relay.ready, once(doomed, 'message')]);

type Payment = Awaited<ReturnType<typeof pay>>;
const stub = async ({ messageId }: Payment) => {
  const shown = await outbox.show(messageId);
  assert.ok(shown);
  return shown.message;
};
const confirmed = async (...some: readonly Payment[]) =>
  (await Promise.all(some.map(stub))).every(({ state }) => state === 'confirmed');

// The ledger is killed with the third payment in its hands.
const before: Payment[] = [];
for (let cents = 100; cents <= 500; cents += 100) before.push(await pay(payments, cents));
await died;

// While there is none, the broker loses one payment, and every copy of another one. Their receipts are overdue soon, and so
// are all others; but nothing is sent again, because the ledger is merely behind.
const [lostOnce, lostAlways, kept] = [await losing(1), await losing(3), await pay(payments, 800)];
await until('it is sent', async () => (await stub(kept)).state === 'published');
const firstTime = Number((await stub(kept)).confirmBy);
await until('it gets more time', async () => Number((await stub(kept)).confirmBy) > firstTime);
for (const payment of [lostOnce, lostAlways, kept]) assert.equal((await stub(payment)).sends, 1);

// Another ledger starts. It books what the first one had in its hands, and what has arrived since.
const knownToRedis = new Set<string>();
const redis = redisFilter({
  url: process.env['REDIS_URL'] ?? '',
  prefix: 'payment-confirmed',
  requestTimeout: '5s',
});
const filter = {
  add: (group: string, ids: readonly string[]) => redis.add(group, ids),
  close: () => redis.close(),
  async seen(group: string, ids: readonly string[]) {
    const seen = await redis.seen(group, ids);
    for (const id of seen) knownToRedis.add(id);
    return seen;
  },
};
const receipts = losingReceipts(kafka({ servers: brokers, consumers: { sessionTimeout } }));
const running = await ledger(books, { filter, transports: { kafka: receipts.transport } }).start();
await until('all but two are confirmed', () => confirmed(...before, kept));

// The receipt of a payment gets lost. It is sent again, Redis knows it, and another receipt is sent.
const messageId = randomUUID();
receipts.lose(messageId);
const repeated = await pay(payments, 900, messageId);

// Now the ledger has passed everything. What was lost is sent again, each copy once it is overdue; of one payment in vain.
for (let sends = 2; sends <= 3; sends += 1) {
  await until('another copy is lost', async () => (await stub(lostAlways)).sends >= sends);
  // The ledger passes it with the next payment.
  before.push(await pay(payments, 100));
}
const told = () => accounting.mails.some((mail) => mail.includes(lostAlways.messageId));
await until('a person is told', told);
assert.equal((await stub(lostAlways)).state, 'failed');
await until('all others are confirmed', () => confirmed(...before, lostOnce, repeated));
const copies = ({ messageId }: Payment) => broker.acknowledged.get(messageId) ?? [];
for (const payment of [lostOnce, repeated]) assert.ok(copies(payment).length > 1);
assert.ok(knownToRedis.has(messageId));

const all = [...before, lostOnce, kept, repeated];
const entries = await books.entry.findMany({ where: { paymentId: { in: all.map(({ id }) => id) } } });
const [first = 0, second = 0] = copies(repeated);
const here = {
  lost: all.filter(({ id }) => !entries.some(({ paymentId }) => paymentId === id)).length,
  untold: told() ? 0 : 1,
  early: second - first < 1_000 ? 1 : 0,
};
const hand = await flawsByHand(payments, books);
assert.equal(entries.length, all.length);
assert.deepEqual(here, { lost: 0, untold: 0, early: 0 });
assert.deepEqual(hand, { lost: 2, untold: 1, early: 2 });

await relay.stop();
await running.stop();
await Promise.all([broker.close(), outbox.close(), accounting.close()]);
await Promise.all([payments.$disconnect(), books.$disconnect()]);
console.log(
  `payment-confirmed: ${all.length} booked once and confirmed, 1 that every broker loses mailed to a person; by hand ` +
    `${hand.lost} lost, ${hand.untold} never told, ${hand.early} sent too early; here ${here.lost}, ${here.untold} and ${here.early}`,
);

/** Makes a payment of which the broker loses so many copies. */
async function losing(copies: number): Promise<Payment> {
  const cents = 600 + copies;
  broker.lose(`"cents":${cents}`, copies);
  return pay(payments, cents);
}
