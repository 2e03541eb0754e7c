import { passCrashPoint } from '../../core/crash-point.ts';
import { pauseAfter } from '../../core/pause-after.ts';
import { rest } from '../../core/rest.ts';
import { type BulkStart, forgetBulkTold } from '../../store/bulk/starts.ts';
import type { Sql } from '../../store/database/database.ts';
import { markKeysTold, type WantedKey } from '../../store/inbox/parked-keys.ts';
import type { BulkWorkflows, ParkedKeyWorkflows } from '../ports.ts';

const concurrentStarts = 20;
/** A server that has not answered for this time is not waited for: stand-ins begin at once. */
const unansweredMs = 1_000;
const againMs = { first: 1_000, most: 10_000 } as const;
/** How long a stop waits for starts under way: another consumer repeats those that were not noted. */
const stopWithinMs = 1_000;

export interface WorkflowStartsInput {
  readonly withSql: <Result>(work: (sql: Sql) => Promise<Result>) => Promise<Result>;
  readonly workflows: ParkedKeyWorkflows;
  readonly bulks: BulkWorkflows;
  /** `start`: a workflow was not started. `look`: the database did not note the starts. Must not throw. */
  readonly failed: (failure: {
    readonly what: 'look' | 'start';
    readonly error: unknown;
    readonly retryInMs: number;
  }) => void;
  /** True while Temporal counts as away for any reason, including a failed worker: then it is asked in every round. */
  readonly away: () => boolean;
  /** Temporal has answered every request. Must not throw. */
  readonly answered: () => void;
}

/** What a look has found to start. */
export interface Wanted {
  readonly keys: readonly WantedKey[];
  /** `undefined`: none runs, so none has to be hosted. */
  readonly bulks: readonly BulkStart[] | undefined;
}

/**
 * Starts workflows in the background, one round of them at a time: a server that does not answer holds up only the
 * next round. After a failed round, and while Temporal counts as away, it asks again even with nothing to start, the less
 * often the more rounds have failed.
 */
export class WorkflowStarts {
  readonly #input: WorkflowStartsInput;
  #underWay: Promise<void> | undefined;
  #answeredAt = 0;
  #failures = 0;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #away = false;
  #stopped = false;
  /** Every consumer of a group with parked keys must host their workflows; its first start makes it do so. */
  hostsKeys = false;
  hostsBulks = false;

  constructor(input: WorkflowStartsInput) {
    this.#input = input;
  }

  /** False while a round is under way, and until the pause after a failed one is over. */
  get ready(): boolean {
    return !this.#stopped && this.#underWay === undefined && performance.now() >= this.#pausedUntil;
  }

  /** Whether Temporal answers and workers of this process run: then workflows that were started will drain soon. */
  get answering(): boolean {
    if (this.#away || !this.#input.workflows.hosting()) return false;
    return this.#underWay === undefined || performance.now() - this.#answeredAt < unansweredMs;
  }

  get #toBeAsked(): boolean {
    return this.#away || this.#input.away();
  }

  /** Begins a round, if one is {@link WorkflowStarts.ready}. @param ended called after a round without a failure */
  begin(wanted: Wanted, ended: () => void): void {
    if (!this.ready) return;
    if (isEmpty(wanted) && wanted.bulks === undefined && !this.#toBeAsked) return;
    this.#answeredAt = performance.now();
    this.#underWay = this.#run(wanted, ended);
  }

  async #run(wanted: Wanted, ended: () => void): Promise<void> {
    const well = await this.#round(wanted);
    this.#underWay = undefined;
    if (well) ended();
  }

  /** Begins no other start, and waits for those under way, but not for a server that does not answer. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.race([this.#underWay, rest(this.#away ? 0 : stopWithinMs, undefined, { ref: false })]);
  }

  /** Never rejects. @returns false after a failure */
  async #round(wanted: Wanted): Promise<boolean> {
    try {
      if (this.#toBeAsked && isEmpty(wanted)) await this.#ask(() => this.#input.workflows.check());
      const failed = await this.#startAll(wanted.keys);
      await this.#startBulks(wanted.bulks);
      if (failed !== undefined) throw failed;
      this.#away = false;
      this.#failures = 0;
      if (!this.#stopped) this.#input.answered();
      return true;
    } catch (error) {
      this.#failure(error);
      return false;
    }
  }

  #failure(error: unknown): void {
    this.#failures += 1;
    const retryInMs = pauseAfter(this.#failures, againMs);
    this.#pausedUntil = performance.now() + retryInMs;
    if (this.#stopped) return;
    if (error instanceof StartFailure) this.#input.failed({ what: 'start', error: error.cause, retryInMs });
    else this.#input.failed({ what: 'look', error, retryInMs });
  }

  /** Starts concurrently. If the first starts all fail, Temporal is unreachable, and the rest is left to the next round. */
  async #startAll(keys: readonly WantedKey[]): Promise<StartFailure | undefined> {
    const started: WantedKey[] = [];
    const failures: StartFailure[] = [];
    const queue = keys.values();
    const work = async (): Promise<void> => {
      for (const key of queue) {
        if (this.#stopped) return;
        try {
          await this.#ask(() => this.#input.workflows.start(key));
          started.push(key);
        } catch (error) {
          if (!(error instanceof StartFailure)) throw error;
          failures.push(error);
          if (started.length === 0) return;
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(concurrentStarts, keys.length) }, work));
    if (started.length > 0) {
      this.#away = false;
      this.hostsKeys = true;
      passCrashPoint('inbox:key-started');
      await this.#input.withSql((sql) => markKeysTold(sql, started));
    }
    return failures[0];
  }

  /** All consumers of the group host every bulk operation: when one of them dies, another continues. */
  async #startBulks(wanted: readonly BulkStart[] | undefined): Promise<void> {
    if (wanted === undefined) return;
    const { bulks, withSql } = this.#input;
    const left = [...wanted];
    try {
      await this.#ask(() => bulks.host());
      this.hostsBulks = true;
      for (const bulk of wanted) {
        await this.#ask(() => bulks.start(bulk));
        left.shift();
      }
    } catch (error) {
      await withSql(async (sql) => {
        for (const bulk of left) await forgetBulkTold(sql, bulk);
      });
      throw error;
    }
  }

  async #ask(question: () => Promise<void>): Promise<void> {
    try {
      await question();
      this.#answeredAt = performance.now();
    } catch (error) {
      this.#away = true;
      throw new StartFailure(error);
    }
  }
}

function isEmpty({ keys, bulks = [] }: Wanted): boolean {
  return keys.length === 0 && bulks.length === 0;
}

/** Distinguishes a failed start from a failed query. */
class StartFailure extends Error {
  constructor(cause: unknown) {
    super('A workflow was not started.', { cause });
  }
}
