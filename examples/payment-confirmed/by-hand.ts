import type { RedisClientType } from '@redis/client';
import type { PrismaClient as Ledger } from './generated/ledger/client.ts';
import type { PrismaClient as Payments } from './generated/payments/client.ts';

const minuteMs = 60_000;
const maxSends = 3;

/** What the hand-written code works with. */
export interface Hand {
  readonly payments: Payments;
  readonly ledger: Ledger;
  readonly redis: Pick<RedisClientType, 'set'>;
  readonly prefix: string;
  /** Whether the job selects what is due, instead of what is not. */
  readonly mended: boolean;
}

/** Where a consumer dies, and with which payment in its hands. */
export type Death = { readonly beforeBooking: string } | { readonly beforeConfirming: string };

/**
 * Confirmed messages as they are often written by hand: a stub at the sender, a log at the consumer, and a job that sends again
 * what is in the one and not in the other. Its flaws are marked. Do not copy it.
 */
export class StubAndLog {
  /** The time of the story, in milliseconds. */
  now = Date.UTC(2030, 0, 1);
  /** How often each payment was sent. */
  readonly sends = new Map<string, number>();
  /** Payments about which a person was told. */
  readonly told: string[] = [];
  /** How many copies the broker will lose. */
  readonly loses = new Map<string, number>();
  /** The broker: queues of payments, each an array. `null` was acknowledged and lost. */
  readonly #queues: (string | null)[][] = [[], []];
  readonly #committed = [0, 0];
  readonly #queueOf = new Map<string, number>();
  readonly #hand: Hand;

  constructor(hand: Hand) {
    this.#hand = hand;
  }

  async send(id: string, queue = 0): Promise<void> {
    this.#queueOf.set(id, queue);
    const { handWrittenStub } = this.#hand.payments;
    // Flaw 1: the stub has a database of its own, so it knows of no rollback.
    await handWrittenStub.create({ data: { id, resendTime: new Date(this.now + 10 * minuteMs) } });
    await handWrittenStub.update({ where: { id }, data: { offset: this.#publish(id) } });
  }

  /** A consumer of one queue: handles what has arrived, unless it dies. */
  async consume(queue: number, death?: Death): Promise<void> {
    const { ledger, payments } = this.#hand;
    const log = this.#queues[queue] ?? [];
    for (let offset = this.#committed[queue] ?? 0; offset < log.length; offset += 1) {
      const id = log[offset];
      if (typeof id === 'string') {
        const received = { offset, received: new Date(this.now) };
        await ledger.handWrittenLog.upsert({ where: { id }, create: { id, ...received }, update: received });
        if (await this.#isNew(id)) {
          if (death !== undefined && 'beforeBooking' in death && death.beforeBooking === id) return;
          await ledger.entry.create({ data: { paymentId: id } });
          if (death !== undefined && 'beforeConfirming' in death && death.beforeConfirming === id) return;
          await payments.handWrittenStub.update({ where: { id }, data: { confirmed: true } });
          await ledger.handWrittenLog.delete({ where: { id } });
        }
      }
      this.#committed[queue] = offset + 1;
    }
  }

  /** Whether nobody handles it yet: first by Redis, then by the stub. What is done leaves the log. */
  async #isNew(id: string): Promise<boolean> {
    const { ledger, payments, prefix, redis } = this.#hand;
    // Flaw 2: whoever sets the mark may die unfinished, and the next one takes the payment for one in good hands.
    const marked = await redis.set(`${prefix}:${id}`, '1', { condition: 'NX' });
    const stub = await payments.handWrittenStub.findUniqueOrThrow({ where: { id } });
    if (stub.confirmed) await ledger.handWrittenLog.delete({ where: { id } });
    return marked !== null && !stub.confirmed;
  }

  /** The job of every minute. */
  async resend(): Promise<void> {
    const { ledger, mended, payments } = this.#hand;
    const now = new Date(this.now);
    // Flaw 3: what is handled has left the log, so there is no maximum when all is done. Flaw 4: it is one for all queues.
    const passed = (await ledger.handWrittenLog.aggregate({ _max: { offset: true } }))._max.offset;
    if (passed === null) return;
    const stubs = await payments.handWrittenStub.findMany({
      where: {
        confirmed: false,
        sendCount: { lt: maxSends },
        // Flaw 5: as written, the wrong way round. What is due is never sent again, and what is not due yet is.
        resendTime: mended ? { lte: now } : { gt: now },
        offset: { lt: passed },
      },
    });
    for (const { id, sendCount } of stubs) {
      if ((await ledger.handWrittenLog.count({ where: { id } })) > 0) continue;
      if (sendCount + 1 === maxSends) this.told.push(id);
      const resendTime = new Date(this.now + 10 * minuteMs);
      await payments.handWrittenStub.update({
        where: { id },
        data: { sendCount: sendCount + 1, offset: this.#publish(id), resendTime },
      });
    }
  }

  #publish(id: string): number {
    this.sends.set(id, (this.sends.get(id) ?? 0) + 1);
    const copies = this.loses.get(id) ?? 0;
    this.loses.set(id, copies - 1);
    return (this.#queues[this.#queueOf.get(id) ?? 0] ?? []).push(copies > 0 ? null : id) - 1;
  }
}
