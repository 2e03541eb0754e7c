import type {
  Hold,
  OutgoingBatch,
  OutgoingMessage,
  PublishOutcome,
  PublishResult,
  Transport,
} from '../../../src/brokers/transport.ts';

/**
 * What the broker does with one message.
 *
 * - `store`: stores and acknowledges it; `reject`, `permanent`: refuses it.
 * - `store-silently`: stores it and answers ambiguous; `lose`: answers ambiguous without storing it.
 * - `hold`: unreachable; `hold-on-wire`: stores it, but the connection is lost before the answer.
 */
export type Verdict = 'store' | 'reject' | 'permanent' | 'store-silently' | 'lose' | 'hold' | 'hold-on-wire';

/** A record of the broker's log. */
export interface Delivery extends OutgoingMessage {
  readonly offset: string;
  /** When it was stored, by this process's clock. */
  readonly storedAt: number;
}

/** An in-memory broker of one partition that follows the script of a test and logs everything it stores. */
export class ScriptedBroker implements Transport {
  readonly name = 'scripted';
  /** Everything stored, in order, repeats included. */
  readonly log: Delivery[];
  /** Ids of every batch, as passed to `publish`. */
  readonly batches: (readonly string[])[] = [];
  judge: (message: OutgoingMessage) => Verdict = () => 'store';
  /** Awaited before a batch is processed, and again between storing and answering. */
  before: (batch: OutgoingBatch) => Promise<void> | void = () => undefined;
  after: (batch: OutgoingBatch) => Promise<void> | void = () => undefined;
  /** False: probes fail, and a hold continues. */
  reachable = true;

  /** @param log shared by several instances that act as one broker, each with the faults of one client */
  constructor(log: Delivery[] = []) {
    this.log = log;
  }

  /** The payloads in the log, without their JSON quotes. */
  get labels(): readonly string[] {
    return this.log.map((delivery) => String(JSON.parse(delivery.payload)));
  }

  async publish(batch: OutgoingBatch): Promise<PublishResult> {
    this.batches.push(batch.messages.map((message) => message.id));
    await this.before(batch);
    const stopped = new Set<string>();
    let hold: Hold | undefined;
    const outcomes = batch.messages.map((message): PublishOutcome => {
      if (message.key !== null && stopped.has(message.key)) return { kind: 'blocked' };
      const outcome = this.#serve(message);
      if (outcome.kind === 'deferred') hold = { scope: 'topic', reason: 'put on hold by the script' };
      if (outcome.kind !== 'acknowledged' && message.key !== null) stopped.add(message.key);
      return outcome;
    });
    await this.after(batch);
    return hold === undefined ? { outcomes } : { outcomes, hold };
  }

  async probe(): Promise<void> {
    if (!this.reachable) throw new Error('unreachable by the script');
  }

  async close(): Promise<void> {}

  #serve(message: OutgoingMessage): PublishOutcome {
    switch (this.judge(message)) {
      case 'store':
        return { kind: 'acknowledged', partition: 0, offset: this.#store(message) };
      case 'reject':
        return { kind: 'rejected', error: 'rejected by the script' };
      case 'permanent':
        return { kind: 'permanent', error: 'refused by the script' };
      case 'store-silently':
        this.#store(message);
        return { kind: 'ambiguous', error: 'the answer was lost by the script' };
      case 'lose':
        return { kind: 'ambiguous', error: 'lost by the script' };
      case 'hold':
        return { kind: 'deferred', onWire: false };
      case 'hold-on-wire':
        this.#store(message);
        return { kind: 'deferred', onWire: true };
    }
  }

  #store(message: OutgoingMessage): string {
    const offset = String(this.log.length);
    this.log.push({ ...message, offset, storedAt: Date.now() });
    return offset;
  }
}

/** The label that the test gave the message. */
export function labelOf(message: OutgoingMessage): string {
  return String(JSON.parse(message.payload));
}
