import type { ProduceAnswer, ProduceBatch } from './produce-request.ts';

/** Sends batches in one request, and answers for each of them. */
export type SendTogether = (batches: readonly ProduceBatch[]) => Promise<readonly ProduceAnswer[]>;

/**
 * A broker carries out the requests of a connection one after the other, a millisecond or more each: one is carried out, and
 * one is there when it is done. What comes meanwhile travels in the request after them.
 */
const requestsAtOnce = 2;
/** Batches of this size, in bytes, do not wait: the broker stores one while the next is encoded. */
const largeBytes = 64 * 1024;

interface Waiting {
  readonly batch: ProduceBatch;
  readonly resolve: (answer: ProduceAnswer) => void;
  readonly reject: (error: unknown) => void;
}

/** The batches for one broker: small ones that are asked for at the same time travel together. */
export class ProduceQueue {
  readonly #send: SendTogether;
  #waiting: Waiting[] = [];
  #underWay = 0;
  #planned = false;

  constructor(send: SendTogether) {
    this.#send = send;
  }

  /**
   * The records are copied, or given to the socket, before this returns.
   *
   * @throws what the request that carries the batch rejects with
   */
  add(batch: ProduceBatch): Promise<ProduceAnswer> {
    return new Promise((resolve, reject) => {
      if (batch.records.length >= largeBytes) {
        void this.#request([{ batch, resolve, reject }]);
        return;
      }
      this.#waiting.push({ batch: { ...batch, records: Buffer.from(batch.records) }, resolve, reject });
      if (this.#planned || this.#underWay >= requestsAtOnce) return;
      this.#planned = true;
      // The other partitions of the same publish are added by microtasks that are already queued.
      queueMicrotask(() => {
        this.#planned = false;
        this.#flush();
      });
    });
  }

  #flush(): void {
    while (this.#waiting.length > 0 && this.#underWay < requestsAtOnce) {
      const together = this.#next();
      this.#underWay += 1;
      void this.#request(together).finally(() => {
        this.#underWay -= 1;
        this.#flush();
      });
    }
  }

  /** One batch of each partition, in order, up to the size of a large batch. */
  #next(): readonly Waiting[] {
    const together = new Map<string, Waiting>();
    const later: Waiting[] = [];
    let bytes = 0;
    for (const one of this.#waiting) {
      const { address, partition, records } = one.batch;
      const name = `${partition} ${address}`;
      bytes += records.length;
      // Of two batches for one partition in a request, a broker would see only the last.
      if (together.has(name) || (bytes > largeBytes && together.size > 0)) later.push(one);
      else together.set(name, one);
    }
    this.#waiting = later;
    return [...together.values()];
  }

  /** Never rejects. */
  async #request(together: readonly Waiting[]): Promise<void> {
    try {
      const answers = await this.#send(together.map(({ batch }) => batch));
      for (const [index, { resolve, reject }] of together.entries()) {
        const answer = answers[index];
        if (answer === undefined) reject(new Error('A request was answered for fewer batches than it has.'));
        else resolve(answer);
      }
    } catch (error) {
      for (const { reject } of together) reject(error);
    }
  }
}
