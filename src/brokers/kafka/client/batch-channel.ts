import type { LogRecord } from '../../../core/delivery-log.ts';
import { OutboxError } from '../../../core/errors.ts';
import { reasonOf } from '../../../core/reason.ts';
import { rest } from '../../../core/rest.ts';

/** A read that gets no batch for this long counts as failed. */
const silentForMs = 30_000;
/** Interval of the heartbeats of a consumer that waits for its reader. */
const heartbeatEveryMs = 1_000;

export interface ReadBatch {
  readonly address: string;
  readonly partition: number;
  readonly lastOffset: string;
  readonly records: readonly LogRecord[];
}

/** Passes one batch at a time from the consumer to the reader, so that memory does not grow with the log. */
export class BatchChannel {
  readonly #ended = new AbortController();
  #offered: { readonly batch: ReadBatch; readonly taken: () => void } | undefined;
  #failure: unknown;
  #changed: () => void = () => undefined;

  /** Resolves when the batch was taken, or the reader has ended. */
  async give(batch: ReadBatch, heartbeat: () => Promise<void>): Promise<void> {
    const taken = new AbortController();
    this.#offered = { batch, taken: () => taken.abort() };
    this.#changed();
    const over = AbortSignal.any([taken.signal, this.#ended.signal]);
    while (!over.aborted) {
      await rest(heartbeatEveryMs, over);
      await heartbeat();
    }
  }

  /** @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE` if the consumer failed, or no batch came for too long */
  async take(): Promise<ReadBatch> {
    const endsAt = performance.now() + silentForMs;
    while (this.#offered === undefined) {
      if (this.#failure !== undefined)
        throw logUnavailable('The log could not be read to its end', this.#failure);
      const leftMs = endsAt - performance.now();
      if (leftMs <= 0) throw logUnavailable(`The log was silent for ${silentForMs / 1_000} s before its end`);
      await this.#change(leftMs);
    }
    const { batch, taken } = this.#offered;
    this.#offered = undefined;
    taken();
    return batch;
  }

  fail(error: unknown): void {
    this.#failure = error;
    this.#changed();
  }

  end(): void {
    this.#ended.abort();
  }

  async #change(withinMs: number): Promise<void> {
    const late = new AbortController();
    await Promise.race([
      new Promise<void>((resolve) => {
        this.#changed = resolve;
      }),
      rest(withinMs, late.signal),
    ]);
    late.abort();
  }
}

/** The error of a broker that does not answer. */
export function logUnavailable(message: string, cause?: unknown): OutboxError {
  const reason = cause === undefined ? '' : `: ${reasonOf(cause).replace(/\.$/, '')}`;
  return new OutboxError('OUTBOX_SERVER_UNAVAILABLE', `${message}${reason}.`, { cause });
}
