import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { operations } from 'temporal-outbox/operations';
import { startRelay } from 'temporal-outbox/relay';
import { connect, overRocketmq } from './broker.ts';
import { fallBehind, rollBack, stubOf } from './faults.ts';
import { type Figures, flawsByHand } from './flaws.ts';
import { newJam } from './jam.ts';
import { ledgerDatabase } from './ledger.ts';
import { losingBroker } from './losing-broker.ts';
import { mailbox } from './mailbox.ts';
import { mailer } from './mailer.ts';
import config from './outbox.config.ts';
import { type Payment, pay, paymentsDatabase } from './payments.ts';
import { troubledLedgers } from './troubled-ledgers.ts';
import { until } from './until.ts';

const payments = paymentsDatabase();
const books = ledgerDatabase();
const outbox = operations(config);
const accounting = await mailbox();
const broker = await losingBroker(connect());
const relay = startRelay({ ...config, transports: { broker: broker.transport } }, { logger: false });
const mails = mailer(payments, accounting);
await mails.start();
const doomed = fork('doomed-ledger.ts');
const died = once(doomed, 'exit');
await Promise.all([relay.ready, once(doomed, 'message')]);

const stub = (payment: Payment) => stubOf(outbox, payment);
const confirmed = async (...some: readonly Payment[]) =>
  (await Promise.all(some.map(stub))).every(({ state }) => state === 'confirmed');

// The ledger is killed with the third payment in its hands.
const before: Payment[] = [];
for (let cents = 100; cents <= 500; cents += 100) before.push(await pay(payments, { cents }));
await died;

// While there is none, the broker loses one payment, and every copy of another one. Their receipts are overdue soon, and so
// are all others; but nothing is sent again, because the ledger is merely behind.
const [lostOnce, lostAlways, kept] = [await losing(1), await losing(3), await pay(payments, { cents: 800 })];
await until('it is sent', async () => (await stub(kept)).state === 'published');
const firstTime = Number((await stub(kept)).confirmBy);
await until('it gets more time', async () => Number((await stub(kept)).confirmBy) > firstTime);
for (const payment of [lostOnce, lostAlways, kept]) assert.equal((await stub(payment)).sends, 1);

// Two other ledgers start. They book what the first one had in its hands, and what has arrived since.
const jam = newJam();
const ledgers = await troubledLedgers(books, jam, connect);
await until('all but two are confirmed', () => confirmed(...before, kept));

// The receipt of a payment gets lost. It is sent again, Redis knows it, and another receipt is sent.
const messageId = randomUUID();
ledgers.loseReceipt(messageId);
const repeated = await pay(payments, { cents: 900, messageId });

// A payment is rolled back. Another one waits in its partition, while another partition is ahead.
const rolledBack = await rollBack(payments);
const [around, needless] = await fallBehind({ payments, outbox, jam });
before.push(...around);

// Now the ledgers have passed everything. What was lost is sent again, each copy once it is overdue; of one payment in vain.
for (let sends = 2; sends <= 3; sends += 1) {
  await until('another copy is lost', async () => (await stub(lostAlways)).sends >= sends);
  // A ledger passes it with the next payment.
  before.push(await pay(payments, { cents: 100 }));
}
const told = (payment: Payment) => accounting.mails.some((mail) => mail.includes(payment.messageId));
await until('a person is told', () => told(lostAlways));
assert.equal((await stub(lostAlways)).state, 'failed');
await until('all others are confirmed', () => confirmed(...before, lostOnce, repeated));
const copies = ({ messageId }: Payment) => broker.acknowledged.get(messageId) ?? [];
for (const payment of [lostOnce, repeated]) assert.ok(copies(payment).length > 1);
assert.ok(ledgers.knownToRedis.has(messageId));

const all = [...before, lostOnce, kept, repeated];
const entries = await books.entry.findMany();
const missing = (payment: Payment): boolean => !entries.some(({ paymentId }) => paymentId === payment.id);
const [first = 0, second = 0] = copies(repeated);
const here: Figures = {
  lostInHand: before.filter(missing).length,
  unconfirmed: (await confirmed(repeated)) ? 0 : 1,
  lostByBroker: [lostOnce, kept].filter(missing).length,
  lostWhenQuiet: [lostOnce].filter(missing).length,
  untold: told(lostAlways) && accounting.mails.length === 1 ? 0 : 1,
  early: second - first < 1_000 ? 1 : 0,
  needless,
  falseAlarms: all.filter(told).length,
  ghosts: entries.filter(({ paymentId }) => paymentId === rolledBack).length,
};
assert.equal(entries.length, all.length);
await books.entry.deleteMany();
const hand = await flawsByHand(payments, books);
const none = { lostInHand: 0, lostByBroker: 0, lostWhenQuiet: 0, unconfirmed: 0, untold: 0, early: 0 };
assert.deepEqual(here, { ...none, needless: 0, falseAlarms: 0, ghosts: 0 });
assert.deepEqual(hand, {
  lostInHand: 1,
  unconfirmed: 1,
  lostByBroker: 1,
  lostWhenQuiet: 1,
  untold: 1,
  early: 2,
  needless: 2,
  falseAlarms: 1,
  ghosts: 1,
});

await relay.stop();
await Promise.all([ledgers.stop(), mails.stop()]);
await Promise.all([broker.close(), outbox.close(), accounting.close()]);
await Promise.all([payments.$disconnect(), books.$disconnect()]);
const lost = ({ lostInHand, lostByBroker, lostWhenQuiet }: Figures) =>
  lostInHand + lostByBroker + lostWhenQuiet;
const sentForNothing = ({ early, needless }: Figures) => early + needless;
console.log(
  `payment-confirmed: over ${overRocketmq ? 'RocketMQ' : 'Kafka'}, ${all.length} booked once and confirmed, 1 that the ` +
    `broker always loses mailed to a person; by hand ${lost(hand)} lost, ${hand.unconfirmed} never confirmed, ` +
    `${hand.untold} never told, ${sentForNothing(hand)} copies for nothing, ${hand.falseAlarms} false alarm, ` +
    `${hand.ghosts} booked without a payment; here ${lost(here)}, ${here.unconfirmed}, ${here.untold}, ` +
    `${sentForNothing(here)}, ${here.falseAlarms} and ${here.ghosts}`,
);

/** Makes a payment of which the broker loses so many copies. */
async function losing(copies: number): Promise<Payment> {
  const cents = 600 + copies;
  broker.lose(`"cents":${cents}`, copies);
  return pay(payments, { cents });
}
