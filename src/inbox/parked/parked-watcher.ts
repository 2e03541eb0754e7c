import { passCrashPoint } from '../../core/crash-point.ts';
import { anyBulkRuns, type BulkStart, forgetBulkTold, wantedBulks } from '../../store/bulk/starts.ts';
import type { Sql } from '../../store/database/database.ts';
import {
  anyKey,
  type DeadTries,
  type KeyPlace,
  markKeysTold,
  overdueKeys,
  untoldKeys,
  type WantedKey,
} from '../../store/inbox/parked-keys.ts';
import type { BulkWorkflows, ParkedKeyWorkflows } from '../ports.ts';

/** A look at the parked keys that failed, fully or in part. The next look follows by itself. */
export interface ParkedWatchFailure {
  /** `look`: the database did not answer. `start`: a workflow was not started; reported once per look. */
  readonly what: 'look' | 'start';
  readonly error: unknown;
  readonly retryInMs: number;
}

export interface ParkedWatcherInput {
  readonly group: string;
  /** Runs `work` on a connection of the database; a transaction is not needed. */
  readonly withSql: <Result>(work: (sql: Sql) => Promise<Result>) => Promise<Result>;
  readonly workflows: ParkedKeyWorkflows;
  readonly bulks: BulkWorkflows;
  /** Ends the tries of dead processes. */
  readonly endDeadTries: () => Promise<Omit<DeadTries, 'gaveUp'>>;
  /** Must not throw. */
  readonly failed: (failure: ParkedWatchFailure) => void;
}

const lookEveryMs = 1_000;
/** While other processes have tries in hand, because they may die. */
const watchEveryMs = 400;
/** Between looks after nudges, so that a consumer that parks many keys needs few looks. */
const nudgedEveryMs = 50;
const againMs = { first: 1_000, most: 10_000 } as const;
const keysPerLook = 100;
const concurrentStarts = 20;

/**
 * Ensures that every parked key of a consumer group that waits for a try has its workflow, and so has every bulk operation
 * on messages that the group keeps.
 *
 * Level-triggered: it looks at the current rows, so a start that fails or is lost is repeated, and it resumes after an
 * outage of the database or Temporal. Any number of consumers may watch the same group.
 */
export class ParkedWatcher {
  readonly #input: ParkedWatcherInput;
  #running: Promise<void> | undefined;
  #stopped = false;
  #nudged = false;
  #endPause: (() => void) | undefined;
  /** Every consumer of a group with parked keys must host their workflows; its first start makes it do so. */
  #hosting = false;
  #hostingBulks = false;
  #overdueAfter: KeyPlace | null = null;
  #othersTry = false;

  constructor(input: ParkedWatcherInput) {
    this.#input = input;
  }

  /** Begins to look; a second call does nothing. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Looks now: a key was parked, or an operator has decided. After a failed look the pause is kept. */
  nudge(): void {
    this.#nudged = true;
    this.#endPause?.();
  }

  /** Stops looking, and waits for the current starts. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.nudge();
    await this.#running;
  }

  async #run(): Promise<void> {
    let retryInMs: number = againMs.first;
    while (!this.#stopped) {
      this.#nudged = false;
      try {
        const more = await this.#look();
        retryInMs = againMs.first;
        await this.#pause(nudgedEveryMs, () => this.#stopped);
        const everyMs = this.#othersTry ? watchEveryMs : lookEveryMs;
        if (!more) await this.#pause(everyMs - nudgedEveryMs, () => this.#nudged);
      } catch (error) {
        this.#report(error, retryInMs);
        await this.#pause(retryInMs, () => this.#stopped);
        retryInMs = Math.min(2 * retryInMs, againMs.most);
      }
    }
  }

  /** Looks once and starts what it finds. @returns whether there may be more */
  async #look(): Promise<boolean> {
    const { endDeadTries, withSql } = this.#input;
    const dead = await endDeadTries();
    this.#othersTry = dead.others;
    const { keys, bulks } = await withSql(async (sql) => ({
      keys: await this.#wantedKeys(sql, dead.keys),
      bulks: await this.#wantedBulks(sql),
    }));
    const { started, failures } = await this.#startAll(keys);
    if (started.length > 0) {
      this.#hosting = true;
      passCrashPoint('inbox:key-started');
      await withSql((sql) => markKeysTold(sql, started));
    }
    await this.#startBulks(bulks);
    if (failures.length > 0) throw new StartFailure(failures[0]);
    return keys.length >= keysPerLook;
  }

  async #wantedKeys(sql: Sql, dead: readonly WantedKey[]): Promise<readonly WantedKey[]> {
    const { group } = this.#input;
    const untold = await untoldKeys(sql, group, keysPerLook);
    const first = [...dead, ...untold];
    if (untold.length >= keysPerLook) return first;
    const { keys, next } = await overdueKeys(sql, group, this.#overdueAfter, keysPerLook - untold.length);
    this.#overdueAfter = next;
    const wanted = [...first, ...keys.filter(({ keyId }) => first.every((one) => one.keyId !== keyId))];
    return wanted.length > 0 || this.#hosting ? wanted : anyKey(sql, group);
  }

  /** `undefined`: none runs, so none has to be hosted. */
  async #wantedBulks(sql: Sql): Promise<readonly BulkStart[] | undefined> {
    const { group } = this.#input;
    return this.#hostingBulks || (await anyBulkRuns(sql, group)) ? wantedBulks(sql, group) : undefined;
  }

  /** All consumers of the group host every bulk operation: when one of them dies, another continues. */
  async #startBulks(wanted: readonly BulkStart[] | undefined): Promise<void> {
    if (wanted === undefined) return;
    const { bulks, withSql } = this.#input;
    const left = [...wanted];
    try {
      await bulks.host();
      this.#hostingBulks = true;
      for (const bulk of wanted) {
        await bulks.start(bulk);
        left.shift();
      }
    } catch (error) {
      await withSql(async (sql) => {
        for (const bulk of left) await forgetBulkTold(sql, bulk);
      });
      throw new StartFailure(error);
    }
  }

  /** Starts concurrently. If the first starts all fail, Temporal is unreachable, and the rest is left to the next look. */
  async #startAll(
    keys: readonly WantedKey[],
  ): Promise<{ readonly started: readonly WantedKey[]; readonly failures: readonly unknown[] }> {
    const started: WantedKey[] = [];
    const failures: unknown[] = [];
    const queue = keys.values();
    const work = async (): Promise<void> => {
      for (const key of queue) {
        if (this.#stopped) return;
        try {
          await this.#input.workflows.start(key);
          started.push(key);
        } catch (error) {
          failures.push(error);
          if (started.length === 0) return;
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(concurrentStarts, keys.length) }, work));
    return { started, failures };
  }

  #report(error: unknown, retryInMs: number): void {
    if (this.#stopped) return;
    const failed = error instanceof StartFailure;
    this.#input.failed({
      what: failed ? 'start' : 'look',
      error: failed ? error.cause : error,
      retryInMs,
    });
  }

  /** Waits; a nudge ends the wait if `isOver` then holds. */
  async #pause(ms: number, isOver: () => boolean): Promise<void> {
    if (isOver()) return;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(end, ms);
      this.#endPause = () => {
        if (isOver()) end();
      };
    });
    this.#endPause = undefined;
  }
}

/** Distinguishes a failed start from a failed query. */
class StartFailure extends Error {
  constructor(cause: unknown) {
    super('A workflow was not started.', { cause });
  }
}
