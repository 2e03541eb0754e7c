import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createClient } from '@redis/client';
import { type Hand, StubAndLog } from './by-hand.ts';
import type { PrismaClient as Ledger } from './generated/ledger/client.ts';
import type { PrismaClient as Payments } from './generated/payments/client.ts';

const minuteMs = 60_000;
const declined = new Error('The account is closed.');

/** What became of payments under the same faults. */
export interface Figures {
  /** In hand when a consumer died, and never booked. */
  readonly lostInHand: number;
  /** Booked, and never confirmed. */
  readonly unconfirmed: number;
  /** Lost once by the broker, while no consumer ran, and never sent again. */
  readonly lostByBroker: number;
  /** Lost once by the broker, when nothing else was in hand, and never sent again. */
  readonly lostWhenQuiet: number;
  /** Lost by the broker whenever they were sent, and nobody was told. */
  readonly untold: number;
  /** Copies that were sent before the confirmation was overdue. */
  readonly early: number;
  /** Copies of a payment that only waits for its turn. */
  readonly needless: number;
  /** Payments about which a person was told, although they only wait for their turn. */
  readonly falseAlarms: number;
  /** Booked, although the payment was rolled back. */
  readonly ghosts: number;
}

type Stage = Omit<Hand, 'mended'>;

/** Runs the hand-written stub and log on a clock of its own. */
export async function flawsByHand(payments: Payments, ledger: Ledger): Promise<Figures> {
  const redis = createClient({ url: process.env['REDIS_URL'] ?? 'redis://localhost:6379' });
  await redis.connect();
  const stage = { payments, ledger, redis, prefix: `payment-confirmed:by-hand:${randomUUID()}` };
  const figures = {
    ...(await deathsAndLosses(stage)),
    ...(await lostWhenQuiet(stage)),
    ...(await queueBehind(stage)),
    ...(await rolledBack(stage)),
  };
  await redis.del(await redis.keys(`${stage.prefix}:*`));
  await redis.close();
  return figures;
}

async function deathsAndLosses(stage: Stage) {
  const hand = new StubAndLog({ ...stage, mended: false });
  await pay(hand, ['booked', 'unheard']);
  await hand.consume(0, { beforeConfirming: 'unheard' });
  // No consumer runs for half an hour. Meanwhile the broker loses one payment once, and another whenever it is sent.
  hand.loses.set('lost once', 1).set('lost always', Number.POSITIVE_INFINITY);
  await pay(hand, ['lost once', 'lost always', 'in hand', 'last']);
  await minutes(hand, 30, []);
  await hand.consume(0, { beforeBooking: 'in hand' });
  await minutes(hand, 60, [0]);

  const ids = await booked(stage);
  const stubs = await stage.payments.handWrittenStub.findMany({ where: { confirmed: false } });
  await clear(stage);
  return {
    lostInHand: ids.has('in hand') ? 0 : 1,
    lostByBroker: ids.has('lost once') ? 0 : 1,
    unconfirmed: stubs.filter(({ id }) => ids.has(id)).length,
    untold: hand.told.includes('lost always') ? 0 : 1,
  };
}

/** With the job's comparison of times put right, as otherwise nothing is sent again when it is due. */
async function lostWhenQuiet(stage: Stage) {
  const hand = new StubAndLog({ ...stage, mended: true });
  hand.loses.set('second of three', 1);
  await pay(hand, ['first of three', 'second of three', 'third of three']);
  await minutes(hand, 60, [0]);
  const ids = await booked(stage);
  await clear(stage);
  assert.ok(ids.has('first of three') && ids.has('third of three'));
  return { lostWhenQuiet: ids.has('second of three') ? 0 : 1 };
}

/** One queue is ahead, and one of its payments in hand for long. A payment of the other queue waits for its turn. */
async function queueBehind(stage: Stage) {
  const play = async (mended: boolean, forMinutes: number) => {
    const hand = new StubAndLog({ ...stage, mended });
    const waits = `waits ${mended}`;
    const ahead = ['1', '2', '3', '4', 'slow'].map((name) => `${name} ahead ${mended}`);
    await pay(hand, ahead);
    await hand.consume(0, { beforeBooking: `slow ahead ${mended}` });
    await hand.send(waits, 1);
    await minutes(hand, forMinutes, []);
    await clear(stage);
    return { copies: (hand.sends.get(waits) ?? 0) - 1, told: hand.told.length };
  };
  // A confirmation is overdue after ten minutes.
  const { copies: early } = await play(false, 9);
  const { copies: needless, told: falseAlarms } = await play(true, 60);
  return { early, needless, falseAlarms };
}

async function rolledBack(stage: Stage) {
  const hand = new StubAndLog({ ...stage, mended: false });
  let id = '';
  const paying = stage.payments.$transaction(async (tx) => {
    id = (await tx.payment.create({ data: { cents: 100 } })).id;
    await hand.send(id);
    throw declined;
  });
  await assert.rejects(paying, declined);
  await hand.consume(0);
  const payments = await stage.payments.payment.count({ where: { id } });
  const entries = await stage.ledger.entry.count({ where: { paymentId: id } });
  await clear(stage);
  return { ghosts: entries - payments };
}

async function pay(hand: StubAndLog, ids: readonly string[]): Promise<void> {
  for (const id of ids) await hand.send(id);
}

/** The job runs every minute; consumers of these queues handle what has arrived before. */
async function minutes(hand: StubAndLog, count: number, queues: readonly number[]): Promise<void> {
  for (let passed = 0; passed < count; passed += 1) {
    hand.now += minuteMs;
    for (const queue of queues) await hand.consume(queue);
    await hand.resend();
  }
}

const booked = async ({ ledger }: Stage): Promise<ReadonlySet<string>> =>
  new Set((await ledger.entry.findMany()).map(({ paymentId }) => paymentId));

/** Removes stubs and log; the next fault has payments of other names. */
async function clear({ ledger, payments }: Stage): Promise<void> {
  await Promise.all([payments.handWrittenStub.deleteMany(), ledger.handWrittenLog.deleteMany()]);
}
