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

/** A look at the parked keys that came to nothing, or not to all that it should. The next one follows by itself. */
export interface ParkedWatchFailure {
  /** `look`: the database did not answer. `start`: a workflow was not started; one failure speaks for all of a look. */
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
  /** Ends the tries of processes that are dead. */
  readonly endDeadTries: () => Promise<Omit<DeadTries, 'gaveUp'>>;
  /** Must not throw. */
  readonly failed: (failure: ParkedWatchFailure) => void;
}

const lookEveryMs = 1_000;
/** While others have tries in hand: they may die. */
const watchEveryMs = 400;
/** Between looks that are asked for by nudges: a consumer that parks much has it done in few looks. */
const nudgedEveryMs = 50;
const againMs = { first: 1_000, most: 10_000 } as const;
const keysPerLook = 100;
const concurrentStarts = 20;

/**
 * Makes sure that every parked key of a consumer group that waits for a try has its workflow, and every bulk operation on
 * what the group keeps.
 *
 * Level-triggered: it looks at what is, not at what happened, so a start that fails or is lost is made again, and it works
 * on when database or Temporal were away. Any number of consumers may watch the same group.
 */
export class ParkedWatcher {
  readonly #input: ParkedWatcherInput;
  #running: Promise<void> | undefined;
  #stopped = false;
  #nudged = false;
  #endPause: (() => void) | undefined;
  /** Each consumer of a group that has parked keys is to host their workflows, and does so from its first start. */
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

  /** A key was parked, or an operator has decided: looks now. After a failure the next look keeps its time. */
  nudge(): void {
    this.#nudged = true;
    this.#endPause?.();
  }

  /** Looks no more, and waits for the starts under way. */
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

  /** One look, and the starts that follow from it. Answers whether there may be more at once. */
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

  /** Undefined: none runs, so none has to be hosted. */
  async #wantedBulks(sql: Sql): Promise<readonly BulkStart[] | undefined> {
    const { group } = this.#input;
    return this.#hostingBulks || (await anyBulkRuns(sql, group)) ? wantedBulks(sql, group) : undefined;
  }

  /** All consumers of the group host what one of them starts: when that one dies, another goes on with it. */
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

  /** Starts side by side. When the first ones all fail, Temporal is away, and the others are left to the next look. */
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

  /** Waits, but no longer than until a nudge after which `isOver`. */
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

/** Tells a start that failed from a database that did. */
class StartFailure extends Error {
  constructor(cause: unknown) {
    super('A workflow was not started.', { cause });
  }
}
