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

/**
 * Delayed messages as they are often written by hand: a table, a queue in memory, and a job that fills it every minute with
 * what is due within the next hour. Its flaws are marked. Do not copy it.
 */
export class HandWrittenOutbox {
  readonly #queue: { id: string; at: number }[] = [];
  readonly #prisma: PrismaClient;
  readonly #clock: Clock;
  readonly #broker: (body: string) => Promise<void>;
  readonly #sendable: readonly number[];

  /** @param mended whether `retrySend` sends a message that has never been tried */
  constructor(
    prisma: PrismaClient,
    clock: Clock,
    broker: (body: string) => Promise<void>,
    { mended }: { mended: boolean },
  ) {
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
    const rows = await this.#prisma.handWrittenMessage.findMany({
      where: { status: waiting, expectSendTime: { lt: new Date(this.#clock.now + hourMs) } },
    });
    // Flaw 3: what is still queued from a minute ago is queued again.
    for (const { id, expectSendTime } of rows) this.#queue.push({ id, at: expectSendTime.getTime() });
  }

  /** The thread of the queue: sends what is due. */
  async takeDue(): Promise<void> {
    const due = this.#queue.filter(({ at }) => at <= this.#clock.now);
    const rest = this.#queue.filter(({ at }) => at > this.#clock.now);
    this.#queue.splice(0, this.#queue.length, ...rest);
    await Promise.all(due.map(({ id }) => this.retrySend(id)));
  }

  async retrySend(id: string): Promise<void> {
    const row = await this.#prisma.handWrittenMessage.findUnique({ where: { id } });
    if (row === null || !this.#sendable.includes(row.status)) return;
    try {
      await this.#broker(row.body);
      await this.#prisma.handWrittenMessage.update({ where: { id }, data: { status: delivered } });
    } catch {
      const failCount = row.failCount + 1;
      // Flaw 4: counted before it is looked up, so that the first delay is never used.
      const inS = retryAfterS[failCount];
      const nextRetryTime = inS === undefined ? null : new Date(this.#clock.now + inS * 1_000);
      await this.#prisma.handWrittenMessage.update({
        where: { id },
        data: { status: failed, failCount, nextRetryTime },
      });
    }
  }
}
