import { type Clock, HandWrittenOutbox } from './by-hand.ts';
import type { PrismaClient } from './generated/client.ts';
import { until } from './until.ts';

const minuteMs = 60_000;
const start = Date.UTC(2030, 0, 1);

/** What became of the same messages under the same faults. */
export interface Figures {
  /** Timeouts of unpaid orders that were never sent. */
  readonly lost: number;
  /** How often one message was sent to a broker that is slow to acknowledge. */
  readonly sends: number;
  /** From a commit that comes after the due time until the message is sent, in seconds. */
  readonly lateS: number;
  /** From a refused send until the next one, in seconds. */
  readonly firstRetryS: number;
}

/** Runs the hand-written outbox on a clock of its own. */
export async function flawsByHand(prisma: PrismaClient): Promise<Figures> {
  return {
    lost: await lost(prisma),
    sends: await sends(prisma),
    lateS: await lateS(prisma),
    firstRetryS: await firstRetryS(prisma),
  };
}

/** One minute of its jobs: the preload, then whatever is due in each second. */
async function minute(outbox: HandWrittenOutbox, clock: Clock): Promise<void> {
  await outbox.preload();
  for (let second = 0; second < 60; second += 1) {
    await outbox.takeDue();
    clock.now += 1_000;
  }
}

async function lost(prisma: PrismaClient): Promise<number> {
  const clock = { now: start };
  const sent: string[] = [];
  const outbox = new HandWrittenOutbox(prisma, clock, async (body) => void sent.push(body), {
    mended: false,
  });
  const orders = ['one', 'two', 'three'];
  for (const order of orders) await prisma.$transaction((tx) => outbox.sendDelay(tx, order, 15 * minuteMs));
  for (let passed = 0; passed < 60; passed += 1) await minute(outbox, clock);
  await prisma.handWrittenMessage.deleteMany();
  return orders.filter((order) => !sent.includes(order)).length;
}

async function sends(prisma: PrismaClient): Promise<number> {
  const clock = { now: start };
  const sent: string[] = [];
  const broker = async (body: string): Promise<void> => {
    sent.push(body);
    await until('it is queued once, and once by each preload', () => sent.length === 16);
  };
  const outbox = new HandWrittenOutbox(prisma, clock, broker, { mended: true });
  await prisma.$transaction((tx) => outbox.sendDelay(tx, 'order', 15 * minuteMs));
  for (let passed = 0; passed < 15; passed += 1) await minute(outbox, clock);
  await outbox.takeDue();
  await prisma.handWrittenMessage.deleteMany();
  return sent.length;
}

async function lateS(prisma: PrismaClient): Promise<number> {
  const clock = { now: start };
  const sentAt: number[] = [];
  const outbox = new HandWrittenOutbox(prisma, clock, async () => void sentAt.push(clock.now), {
    mended: true,
  });
  await outbox.preload();
  await prisma.$transaction(async (tx) => {
    await outbox.sendDelay(tx, 'order', 2_000);
    clock.now += 3_000;
    await outbox.takeDue();
  });
  const committedAt = clock.now;
  for (; clock.now < start + minuteMs; clock.now += 1_000) await outbox.takeDue();
  await minute(outbox, clock);
  await prisma.handWrittenMessage.deleteMany();
  return ((sentAt[0] ?? Number.POSITIVE_INFINITY) - committedAt) / 1_000;
}

async function firstRetryS(prisma: PrismaClient): Promise<number> {
  const clock = { now: start };
  const refuse = (): Promise<void> => Promise.reject(new Error('The broker is overloaded.'));
  const outbox = new HandWrittenOutbox(prisma, clock, refuse, { mended: true });
  const id = await prisma.$transaction((tx) => outbox.sendDelay(tx, 'order', 0));
  await outbox.takeDue();
  const row = await prisma.handWrittenMessage.findUniqueOrThrow({ where: { id } });
  await prisma.handWrittenMessage.deleteMany();
  return ((row.nextRetryTime?.getTime() ?? Number.POSITIVE_INFINITY) - clock.now) / 1_000;
}
