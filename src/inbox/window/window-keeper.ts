import { OutboxError } from '../../core/errors.ts';
import { Loop } from '../../core/loop.ts';
import type { Sql } from '../../store/database/database.ts';
import { sqlOf, type Transaction } from '../../store/database/transaction.ts';
import { keepWindow, noteWindow } from '../../store/inbox/window.ts';
import type { TransactionClient } from '../transaction-client.ts';

export interface WindowKeeperInput<Tx extends Transaction> {
  readonly client: TransactionClient<Tx>;
  readonly group: string;
  /** How long this group keeps its processed ids; `Infinity`: forever. */
  readonly windowMs: number;
  /** How long failed messages of this group are kept. @defaultValue forever */
  readonly failedMs?: number;
  /** Delete only failed messages that were copied to the dead letters. @defaultValue false */
  readonly deadLetters?: boolean;
  /** Called with each failure and the time until the next try. Must not throw. */
  readonly failed: (error: unknown, retryInMs: number) => void;
  /** @defaultValue one hour between rounds, one minute after a round that left something to do, one day between notes, a quarter of the window at most */
  readonly paces?: Partial<KeeperPaces>;
}

/** Milliseconds. */
interface KeeperPaces {
  readonly roundMs: number;
  readonly againMs: number;
  readonly noteMs: number;
}

const paces: KeeperPaces = { roundMs: 60 * 60_000, againMs: 60_000, noteMs: 24 * 60 * 60_000 };
/** Tries before it is reported: by then the longest lock timeout has failed, too. */
const lateTries = 10;
/** Limits for the client: a step may wait for a connection, and then 10 s for handlers. */
const patience = { maxWait: 10_000, timeout: 30_000 } as const;

/**
 * Keeps the processed ids of a consumer's database within their window while the consumer runs: notes that the group is
 * alive, begins and drops epochs.
 *
 * Nothing depends on a single round. A failure is reported and tried again.
 */
export class WindowKeeper<Tx extends Transaction> {
  readonly #input: WindowKeeperInput<Tx>;
  readonly #paces: KeeperPaces;
  /** Its timer must not keep a process alive that has nothing else to do. */
  readonly #rounds = new Loop(() => this.#round(), { ref: false });
  #notedAtMs = Number.NEGATIVE_INFINITY;

  constructor(input: WindowKeeperInput<Tx>) {
    this.#input = input;
    // A group counts only if it was seen within its own window.
    const noteMs = Math.min(paces.noteMs, input.windowMs / 4);
    this.#paces = { ...paces, noteMs, ...input.paces };
  }

  /** Runs the first round, then continues in the background. Does not reject. */
  async start(): Promise<void> {
    this.#rounds.start(await this.#round());
  }

  /** Ends after the current transaction. Does not reject. */
  stop(): Promise<void> {
    return this.#rounds.stop();
  }

  /** @returns milliseconds until the next round */
  async #round(): Promise<number> {
    const { roundMs, againMs } = this.#paces;
    try {
      await this.#note();
      const { deadLetters = false, failedMs = Number.POSITIVE_INFINITY, group, windowMs } = this.#input;
      const { stopping: signal } = this.#rounds;
      const failed = Number.isFinite(failedMs) ? { group, ageMs: failedMs, copied: deadLetters } : undefined;
      const { complete, failedTries } = await keepWindow(
        { transaction: this.#transaction },
        { windowMs, failed, signal, pauseMs: againMs },
      );
      if (failedTries >= lateTries) this.#input.failed(lateError(failedTries), againMs);
      return complete ? roundMs : againMs;
    } catch (error) {
      this.#input.failed(error, againMs);
      return againMs;
    }
  }

  async #note(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.#notedAtMs < this.#paces.noteMs) return;
    const { group, windowMs } = this.#input;
    await this.#transaction((sql) => noteWindow(sql, { group, windowMs }));
    this.#notedAtMs = nowMs;
  }

  readonly #transaction = <Result>(work: (sql: Sql) => Promise<Result>): Promise<Result> =>
    this.#input.client.$transaction((tx) => work(sqlOf(tx)), patience);
}

function lateError(tries: number): OutboxError {
  return new OutboxError(
    'OUTBOX_WINDOW_LATE',
    `An epoch of processed ids is due to end, and ${tries} tries failed: transactions are always running, or one stays open for long.`,
    { details: { tries } },
  );
}
