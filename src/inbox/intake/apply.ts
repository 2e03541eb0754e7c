import type { IncomingBatch, Partition } from '../../brokers/source.ts';
import type { Transaction } from '../../store/database/transaction.ts';
import { type Arrived, keyedOf, positionOf } from '../handling/arrived.ts';
import { attemptFailed } from '../handling/attempt-failed.ts';
import { keyNameOf } from '../handling/breaker.ts';
import { GivenUp } from '../handling/handler-transactions.ts';
import { BlocksKey } from './applier.ts';
import { FailedChunks } from './failed-chunks.ts';
import type { IntakeContext } from './intake-context.ts';
import { inKeyOrder } from './key-order.ts';
import type { Outcomes } from './outcomes.ts';
import type { OneByOne } from './settle-one.ts';
import type { IntakeRound, Went } from './steps.ts';

/** Applies messages: each in a transaction of its own, or many in one until that fails. */
export class Application<Tx extends Transaction> {
  readonly #context: IntakeContext<Tx>;
  readonly #oneByOne: OneByOne<Tx>;
  readonly #outcomes: Outcomes<Tx>;
  readonly #failedChunks = new FailedChunks();

  constructor(context: IntakeContext<Tx>, oneByOne: OneByOne<Tx>, outcomes: Outcomes<Tx>) {
    this.#context = context;
    this.#oneByOne = oneByOne;
    this.#outcomes = outcomes;
  }

  /** Forgets partitions that are no longer assigned. */
  keepOnly(partitions: readonly Partition[]): void {
    this.#failedChunks.keepOnly(partitions);
  }

  /** The last step. */
  async apply({ batch, messages, probe }: IntakeRound<Tx>): Promise<Went> {
    if (probe !== undefined) {
      await this.#oneByOne.handle(batch, probe, 'probe');
      return 'left';
    }
    const { batchSize } = this.#context.rules;
    if (batchSize === undefined) return this.#singles(batch, messages);
    const leading = this.#failedChunks.leading(batch, () => messages.map(({ incoming }) => incoming.offset));
    if (leading > 0 && (await this.#singles(batch, messages.slice(0, leading))) === 'left') return 'left';
    return this.#chunks(batch, messages.slice(leading), batchSize);
  }

  async #chunks(batch: IncomingBatch, messages: readonly Arrived<Tx>[], size: number): Promise<Went> {
    for (let from = 0; from < messages.length; from += size) {
      if (!this.#oneByOne.mayBegin(batch)) return 'left';
      const chunk = messages.slice(from, from + size);
      if (await this.#together(batch, chunk)) continue;
      if ((await this.#singles(batch, chunk)) === 'left') return 'left';
    }
    return 'through';
  }

  /** @returns false when the transaction of all has failed */
  async #together(batch: IncomingBatch, chunk: readonly Arrived<Tx>[]): Promise<boolean> {
    const { applier, breaker } = this.#context;
    const applied = await applier.apply(chunk, 1, batch.lost).catch((error: unknown) => {
      this.#chunkFailed(chunk, error);
      return undefined;
    });
    if (applied === undefined) return false;
    for (const [n, message] of chunk.entries()) {
      this.#outcomes.end(batch, message, applied[n] ?? { kind: 'duplicate' });
      if (applied[n]?.kind === 'handled' && breaker.watches(batch.address))
        breaker.succeeded(batch.address, keyNameOf(message));
    }
    await this.#outcomes.note(chunk, applied);
    return true;
  }

  #chunkFailed(chunk: readonly Arrived<Tx>[], error: unknown): void {
    const [first] = chunk;
    // `BlocksKey` is cheap to find again, so the chunk is not remembered.
    if (first === undefined || error instanceof BlocksKey || error instanceof GivenUp) return;
    attemptFailed(this.#context, chunk.length === 1 ? keyedOf(first) : positionOf(first), 1, error);
    this.#failedChunks.failed(
      first.incoming,
      chunk.map(({ incoming }) => incoming.offset),
    );
  }

  async #singles(batch: IncomingBatch, messages: readonly Arrived<Tx>[]): Promise<Went> {
    const all = await inKeyOrder(
      messages,
      this.#context.rules.keyConcurrency,
      ({ topic, key }) => (key === null ? null : `${topic}\0${key}`),
      async (message) => this.#oneByOne.mayBegin(batch) && this.#oneByOne.handle(batch, message, 'go'),
    );
    return all ? 'through' : 'left';
  }
}
