import assert from 'node:assert/strict';
import { type Clock, cancelByHand, HandWrittenOutbox } from './by-hand.ts';
import type { PrismaClient } from './generated/client.ts';
import { until } from './until.ts';

const minuteMs = 60_000;
const start = Date.UTC(2030, 0, 1);

/** What became of the same messages under the same faults. */
export interface Figures {
  /** Timeouts of unpaid orders that were never sent. */
  readonly lost: number;
  /** Timeouts whose transaction committed after they were due, and that were never sent. */
  readonly lostByCommit: number;
  /** Timeouts that came due while the process was down, and were never sent. */
  readonly lostByRestart: number;
  /** How often one message was sent by two instances to a broker that is slow to acknowledge. */
  readonly copies: number;
  /** Orders that were canceled although their payment had been accepted. */
  readonly paidAndCanceled: number;
  /** From a refused send until the next one, in seconds. */
  readonly firstRetryS: number;
}

/** Runs the hand-written outbox on a clock of its own. */
export async function flawsByHand(prisma: PrismaClient): Promise<Figures> {
  // What is queued sixteen times by one instance is sent once: its only thread finds the status of the first send.
  assert.equal(await copies(prisma, 1), 1);
  return {
    lost: await lost(prisma),
    lostByCommit: await lostByCommit(prisma),
    lostByRestart: await lostByRestart(prisma),
    copies: await copies(prisma, 2),
    paidAndCanceled: await paidAndCanceled(prisma),
    firstRetryS: await firstRetryS(prisma),
  };
}

/** Minutes of the jobs: in each the preload, then whatever is due in each second. */
async function minutes(count: number, clock: Clock, outboxes: readonly HandWrittenOutbox[]): Promise<void> {
  for (let minute = 0; minute < count; minute += 1) {
    for (const outbox of outboxes) await outbox.preload();
    for (let second = 0; second < 60; second += 1) {
      await Promise.all(outboxes.map((outbox) => outbox.takeDue()));
      clock.now += 1_000;
    }
  }
}

/** An instance on a broker that keeps what it is sent. */
function stage(prisma: PrismaClient, { mended }: { mended: boolean } = { mended: true }) {
  const clock = { now: start };
  const sent: string[] = [];
  const broker = async (body: string): Promise<void> => void sent.push(body);
  const instance = () => new HandWrittenOutbox({ prisma, clock, broker, mended });
  return { clock, sent, instance };
}

async function lost(prisma: PrismaClient): Promise<number> {
  const { clock, instance, sent } = stage(prisma, { mended: false });
  const outbox = instance();
  const orders = ['one', 'two', 'three'];
  for (const order of orders) await prisma.$transaction((tx) => outbox.sendDelay(tx, order, 15 * minuteMs));
  await minutes(60, clock, [outbox]);
  await prisma.handWrittenMessage.deleteMany();
  return orders.filter((order) => !sent.includes(order)).length;
}

async function lostByCommit(prisma: PrismaClient): Promise<number> {
  const { clock, instance, sent } = stage(prisma);
  const outbox = instance();
  await prisma.$transaction(async (tx) => {
    await outbox.sendDelay(tx, 'order', 2_000);
    clock.now += 3_000;
    await outbox.takeDue();
  });
  await minutes(60, clock, [outbox]);
  return notDelivered(prisma, sent);
}

async function lostByRestart(prisma: PrismaClient): Promise<number> {
  const { clock, instance, sent } = stage(prisma);
  const before = instance();
  await prisma.$transaction((tx) => before.sendDelay(tx, 'order', 15 * minuteMs));
  await minutes(14, clock, [before]);
  // The process ends, and its queue with it. Another one runs two minutes later.
  clock.now += 2 * minuteMs;
  await minutes(60, clock, [instance()]);
  return notDelivered(prisma, sent);
}

/** The messages that were stored and not sent. */
async function notDelivered(prisma: PrismaClient, sent: readonly string[]): Promise<number> {
  const { count } = await prisma.handWrittenMessage.deleteMany();
  return count - sent.length;
}

async function copies(prisma: PrismaClient, instances: number): Promise<number> {
  const clock = { now: start };
  let sent = 0;
  let passed = 0;
  const broker = async (): Promise<void> => {
    sent += 1;
    await until('all instances have come to it', () => sent + passed >= instances);
  };
  const outboxes = Array.from(
    { length: instances },
    () => new HandWrittenOutbox({ prisma, clock, broker, mended: true }),
  );
  await prisma.$transaction(async (tx) => outboxes[0]?.sendDelay(tx, 'order', 15 * minuteMs));
  await minutes(15, clock, outboxes);
  await Promise.all(outboxes.map((outbox) => outbox.takeDue().then(() => (passed += 1))));
  await prisma.handWrittenMessage.deleteMany();
  return sent;
}

/** A payment commits between the two statements of the consumer. */
async function paidAndCanceled(prisma: PrismaClient): Promise<number> {
  const { id } = await prisma.order.create({ data: { product: { create: { id: 'vase', stock: 1 } } } });
  await cancelByHand(prisma, id, async () => {
    // Even a payment that checks the row again is of no use.
    const paid = await prisma.order.updateMany({ where: { id, status: 'UNPAID' }, data: { status: 'PAID' } });
    assert.equal(paid.count, 1);
  });
  const canceled = await prisma.order.deleteMany({ where: { id, status: 'CANCELED' } });
  return canceled.count;
}

async function firstRetryS(prisma: PrismaClient): Promise<number> {
  const clock = { now: start };
  const broker = (): Promise<void> => Promise.reject(new Error('The broker is overloaded.'));
  const outbox = new HandWrittenOutbox({ prisma, clock, broker, mended: true });
  const id = await prisma.$transaction((tx) => outbox.sendDelay(tx, 'order', 0));
  await outbox.takeDue();
  const row = await prisma.handWrittenMessage.findUniqueOrThrow({ where: { id } });
  await prisma.handWrittenMessage.deleteMany();
  return ((row.nextRetryTime?.getTime() ?? Number.POSITIVE_INFINITY) - clock.now) / 1_000;
}
