import type { IncomingBatch, IncomingMessage } from '../brokers/source.ts';
import type { SourceMessage } from './source-subject.ts';

interface Sent {
  readonly address: string;
  readonly message: SourceMessage;
  /** Among the messages of its partition, from 0. */
  readonly index: number;
}

/** Observes one member. */
export interface WatchedMember {
  /** Must be called when a batch begins; call the returned function when the batch ends. */
  begin(batch: IncomingBatch): () => void;
}

/** The rules of the port that hold for every batch in every case. */
export class OfferRules {
  readonly #ordered: boolean;
  readonly #sent = new Map<number, Sent>();
  /** Number of messages sent, by partition. */
  readonly #counts = new Map<string, number>();
  /** Index of the furthest message offered so far, by group and partition. */
  readonly #furthest = new Map<string, number>();
  readonly #inHand = new Set<string>();
  readonly #broken = new Set<string>();
  #members = 0;

  constructor(ordered: boolean) {
    this.#ordered = ordered;
  }

  sent(n: number, address: string, message: SourceMessage): void {
    const partition = `${address}/${message.partition}`;
    const index = this.#counts.get(partition) ?? 0;
    this.#counts.set(partition, index + 1);
    this.#sent.set(n, { address, message, index });
  }

  /** The violations as texts, each once. */
  broken(): readonly string[] {
    return [...this.#broken];
  }

  member(group: string, concurrency: number): WatchedMember {
    this.#members += 1;
    // Without partitions, members of a group read the same queue concurrently.
    const owner = this.#ordered ? group : `${group}#${this.#members}`;
    let running = 0;
    return {
      begin: (batch) => {
        const name = `${owner} ${batch.address}/${batch.partition}`;
        if (this.#inHand.has(name)) this.#broken.add('a partition was handed over twice at once');
        this.#inHand.add(name);
        running += 1;
        if (running > concurrency)
          this.#broken.add(`${running} batches were in hand side by side, not ${concurrency}`);
        this.#check(`${group} ${batch.address}/${batch.partition}`, batch);
        return () => {
          running -= 1;
          this.#inHand.delete(name);
        };
      },
    };
  }

  #check(name: string, { address, partition, messages }: IncomingBatch): void {
    if (messages.length === 0) this.#broken.add('an empty batch was offered');
    let before = 0;
    for (const message of messages) {
      if (message.address !== address || message.partition !== partition)
        this.#broken.add('a message was offered in the batch of another partition');
      const n = Number(message.headers['n']);
      this.#compare(n, message);
      if (!this.#ordered) continue;
      if (n <= before) this.#broken.add('a batch was out of order');
      before = n;
      this.#follow(name, n);
    }
  }

  #compare(n: number, message: IncomingMessage): void {
    const sent = this.#sent.get(n);
    if (sent === undefined) {
      this.#broken.add(`message ${n} was never sent`);
      return;
    }
    const { key, body, headers, partition } = sent.message;
    const arrived = message.body === null ? null : Buffer.from(message.body).toString();
    const same =
      message.address === sent.address &&
      message.partition === partition &&
      message.key === key &&
      // A broker without null bodies delivers an empty one instead.
      (arrived ?? '') === (body ?? '') &&
      Object.entries({ ...headers, constructor: undefined }).every(
        ([name, value]) => message.header(name) === value,
      ) &&
      Object.entries(headers).every(([name, value]) => message.headers[name] === value) &&
      message.offset !== '' &&
      !Number.isNaN(message.timestamp.getTime());
    if (!same) this.#broken.add(`message ${n} arrived changed`);
  }

  /** A message is offered for the first time only after all earlier ones of its partition. */
  #follow(name: string, n: number): void {
    const index = this.#sent.get(n)?.index;
    if (index === undefined) return;
    const furthest = this.#furthest.get(name);
    if (furthest !== undefined && index > furthest + 1)
      this.#broken.add(`message ${n} overtook another of its partition`);
    this.#furthest.set(name, Math.max(index, furthest ?? index));
  }
}
