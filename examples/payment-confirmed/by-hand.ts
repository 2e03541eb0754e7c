import type { RedisClientType } from '@redis/client';
import type { PrismaClient as Ledger } from './generated/ledger/client.ts';
import type { PrismaClient as Payments } from './generated/payments/client.ts';

const minuteMs = 60_000;
const maxSends = 3;

/** One partition, as an array. `null` was acknowledged and lost. */
export type Log = (string | null)[];

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
  #committed = 0;
  readonly #log: Log = [];
  readonly #payments: Payments;
  readonly #ledger: Ledger;
  readonly #redis: Pick<RedisClientType, 'set'>;
  readonly #prefix: string;

  constructor(payments: Payments, ledger: Ledger, redis: Pick<RedisClientType, 'set'>, prefix: string) {
    this.#payments = payments;
    this.#ledger = ledger;
    this.#redis = redis;
    this.#prefix = prefix;
  }

  async send(id: string): Promise<void> {
    const offset = this.#publish(id);
    const resendTime = new Date(this.now + 10 * minuteMs);
    await this.#payments.handWrittenStub.create({ data: { id, offset, resendTime } });
  }

  /** Handles what has arrived; `diesWith` is in its hands when it dies. `mute`: its confirmations get lost. */
  async consume({ diesWith, mute = false }: { diesWith?: string; mute?: boolean } = {}): Promise<void> {
    for (; this.#committed < this.#log.length; this.#committed += 1) {
      const id = this.#log[this.#committed];
      if (id === null || id === undefined) continue;
      // Flaw 1: whoever sets the mark may die unfinished, and the next one takes it for done.
      const first = await this.#redis.set(`${this.#prefix}:${id}`, '1', { condition: 'NX' });
      if (first === null) continue;
      await this.#ledger.handWrittenLog.create({
        data: { id, offset: this.#committed, received: new Date(this.now) },
      });
      if (id === diesWith) return;
      await this.#ledger.$transaction([
        this.#ledger.entry.create({ data: { paymentId: id } }),
        this.#ledger.handWrittenLog.delete({ where: { id } }),
      ]);
      if (!mute) await this.#payments.handWrittenStub.update({ where: { id }, data: { confirmed: true } });
    }
  }

  /** The job of every minute. */
  async resend(): Promise<void> {
    const stubs = await this.#payments.handWrittenStub.findMany({
      where: {
        confirmed: false,
        sendCount: { lt: maxSends },
        // Flaw 2: the wrong way round. What is due is never sent again, and what is not due yet is.
        resendTime: { gt: new Date(this.now) },
        offset: { lt: this.#committed },
      },
    });
    for (const { id, sendCount } of stubs) {
      if ((await this.#ledger.handWrittenLog.count({ where: { id } })) > 0) continue;
      if (sendCount + 1 === maxSends) this.told.push(id);
      const offset = this.#publish(id);
      const resendTime = new Date(this.now + 10 * minuteMs);
      await this.#payments.handWrittenStub.update({
        where: { id },
        data: { sendCount: sendCount + 1, offset, resendTime },
      });
    }
  }

  #publish(id: string): number {
    this.sends.set(id, (this.sends.get(id) ?? 0) + 1);
    const copies = this.loses.get(id) ?? 0;
    this.loses.set(id, copies - 1);
    return this.#log.push(copies > 0 ? null : id) - 1;
  }
}
