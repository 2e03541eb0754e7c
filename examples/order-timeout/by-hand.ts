import type { Prisma, PrismaClient } from './generated/client.ts';

const waiting = 0;
const delivered = 1;
const failed = 2;
const retryAfterS = [10, 30, 60, 120, 300];
const hourMs = 3_600_000;

/** A clock that the story moves, so that fifteen minutes take no time. */
export interface Clock {
  now: number;
}

/** What an instance of the application works with. */
export interface Instance {
  readonly prisma: PrismaClient;
  readonly clock: Clock;
  /** Resolves when the broker has the message. */
  readonly broker: (body: string) => Promise<void>;
  /** Whether `retrySend` sends a message that has never been tried. */
  readonly mended: boolean;
}

/**
 * Delayed messages as they are often written by hand: a table, a queue in memory, and a job that fills it every minute with
 * what is due within the next hour. One of these runs in each instance. Its flaws are marked. Do not copy it.
 */
export class HandWrittenOutbox {
  readonly #queue: { id: string; at: number }[] = [];
  readonly #prisma: PrismaClient;
  readonly #clock: Clock;
  readonly #broker: Instance['broker'];
  readonly #sendable: readonly number[];

  constructor({ prisma, clock, broker, mended }: Instance) {
    this.#prisma = prisma;
    this.#clock = clock;
    this.#broker = broker;
    // Flaw 1: as written, it skips status 0, which every delayed message has.
    this.#sendable = mended ? [waiting, failed] : [failed];
  }

  async sendDelay(tx: Prisma.TransactionClient, body: string, delayMs: number): Promise<string> {
    const at = this.#clock.now + delayMs;
    const { id } = await tx.handWrittenMessage.create({ data: { body, expectSendTime: new Date(at) } });
    // Flaw 2: the transaction has not been committed yet.
    this.#queue.push({ id, at });
    return id;
  }

  /** The job of every minute. */
  async preload(): Promise<void> {
    const { now } = this.#clock;
    const rows = await this.#prisma.handWrittenMessage.findMany({
      // Flaw 3: what is due already is not loaded, so nobody sends what was not queued in time.
      where: { status: waiting, expectSendTime: { gt: new Date(now), lt: new Date(now + hourMs) } },
    });
    // Flaw 4: every instance loads every row, and loads it again each minute.
    for (const { id, expectSendTime } of rows) this.#queue.push({ id, at: expectSendTime.getTime() });
  }

  /** The only thread of the queue: sends what is due, one after the other. */
  async takeDue(): Promise<void> {
    const due = this.#queue.filter(({ at }) => at <= this.#clock.now);
    const rest = this.#queue.filter(({ at }) => at > this.#clock.now);
    this.#queue.splice(0, this.#queue.length, ...rest);
    for (const { id } of due) await this.retrySend(id);
  }

  async retrySend(id: string): Promise<void> {
    const row = await this.#prisma.handWrittenMessage.findUnique({ where: { id } });
    // Flaw 2: what is not committed yet is not found, and is not in the queue any more.
    if (row === null || !this.#sendable.includes(row.status)) return;
    try {
      await this.#broker(row.body);
      await this.#prisma.handWrittenMessage.update({ where: { id }, data: { status: delivered } });
    } catch {
      const failCount = row.failCount + 1;
      // Flaw 5: counted before it is looked up, so that the first delay is never used.
      const inS = retryAfterS[failCount];
      const nextRetryTime = inS === undefined ? null : new Date(this.#clock.now + inS * 1_000);
      await this.#prisma.handWrittenMessage.update({
        where: { id },
        data: { status: failed, failCount, nextRetryTime },
      });
    }
  }
}

/** The consumer of the timeouts. `meanwhile` is what others commit between its two statements. */
export async function cancelByHand(
  prisma: PrismaClient,
  id: string,
  meanwhile: () => Promise<void>,
): Promise<void> {
  const order = await prisma.order.findUnique({ where: { id } });
  await meanwhile();
  // Flaw 6: what it has read may not hold any more.
  if (order?.status === 'UNPAID') await prisma.order.update({ where: { id }, data: { status: 'CANCELED' } });
}
