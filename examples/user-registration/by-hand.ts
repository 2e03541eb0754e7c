import type { HandMessage, Prisma, PrismaClient } from './generated/client.ts';

const delivered = 1;
const failed = 2;
const retryAfterS = [10, 30, 60, 120, 300];
const maxFailures = 5;

/** The clock of the story, in milliseconds, so that an hour takes no time. */
export interface Clock {
  now: number;
}

/** Resolves when the broker has the message. */
export type Broker = (topic: string, body: string) => Promise<void>;

/** A transaction with what is done once it is committed. */
export interface HandTransaction {
  readonly tx: Prisma.TransactionClient;
  readonly afterCommit: (() => void)[];
}

/**
 * Messages that commit with their users, as they are often written by hand: a table, a send after the commit, and a job that
 * tries again what has failed. One of these runs in each instance of the application. Its flaws are marked. Do not copy it.
 */
export class HandWrittenSender {
  readonly #prisma: PrismaClient;
  readonly #clock: Clock;
  readonly #broker: Broker;

  constructor(prisma: PrismaClient, clock: Clock, broker: Broker) {
    this.#prisma = prisma;
    this.#clock = clock;
    this.#broker = broker;
  }

  /** Stores a user together with the message. Returns when both are committed; the message is sent meanwhile. */
  async register(email: string): Promise<void> {
    const afterCommit: (() => void)[] = [];
    await this.#prisma.$transaction(async (tx) => {
      const { id } = await tx.user.create({ data: { email } });
      await this.send({ tx, afterCommit }, 'user-registered', JSON.stringify({ userId: id, email }));
    });
    // Flaw 1: only this process knows now that something is to be sent.
    for (const work of afterCommit) work();
  }

  async send({ tx, afterCommit }: HandTransaction, topic: string, body: string): Promise<void> {
    const message = await tx.handMessage.create({ data: { topic, body } });
    afterCommit.push(() => void this.#sendToBroker(message));
  }

  /** The job of every minute. */
  async retryFailed(): Promise<void> {
    const due = await this.#prisma.handMessage.findMany({
      // Flaw 1: what was never tried has status 0, and nobody looks for it.
      where: { status: failed, nextRetryTime: { lte: new Date(this.#clock.now) } },
    });
    for (const { id } of due) await this.retrySend(id);
  }

  async retrySend(id: string): Promise<void> {
    const message = await this.#prisma.handMessage.findUnique({ where: { id } });
    // Flaw 2: the status is read, not taken; another instance reads the same.
    if (message?.status === failed) await this.#sendToBroker(message);
  }

  /** What was given up: tried as often as is allowed, and never selected again. */
  givenUp(): Promise<HandMessage[]> {
    return this.#prisma.handMessage.findMany({ where: { status: failed, nextRetryTime: null } });
  }

  async #sendToBroker({ id, topic, body, failCount }: HandMessage): Promise<void> {
    try {
      await this.#broker(topic, body);
      await this.#prisma.handMessage.update({ where: { id }, data: { status: delivered } });
    } catch (error) {
      const failures = failCount + 1;
      // Flaw 3: without a next time it is never selected again, and nobody is told.
      const nextRetryTime = failures < maxFailures ? this.#after(failures) : null;
      const data = { status: failed, failReason: String(error), failCount: failures, nextRetryTime };
      await this.#prisma.handMessage.update({ where: { id }, data });
    }
  }

  #after(failures: number): Date {
    return new Date(this.#clock.now + (retryAfterS[failures] ?? 300) * 1_000);
  }
}
