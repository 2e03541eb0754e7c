import { pauseAfter } from '../../core/pause-after.ts';
import { startTimer } from '../../core/timer.ts';
import { anyBulkRuns, type BulkStart, wantedBulks } from '../../store/bulk/starts.ts';
import type { Sql } from '../../store/database/database.ts';
import {
  anyKey,
  type DeadTries,
  type KeyCursor,
  nextKeyInMs,
  overdueKeys,
  untoldKeys,
  type WantedKey,
} from '../../store/inbox/parked-keys.ts';
import type { BulkWorkflows, ParkedKeyWorkflows } from '../ports.ts';
import type { KeyStandIns } from './stand-ins.ts';
import { WorkflowStarts } from './workflow-starts.ts';

/** A look at the parked keys that failed, fully or in part. The next look follows by itself. */
export interface ParkedWatchFailure {
  /** `look`: the database did not answer. `start`: a workflow was not started; reported once per round of starts. */
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
  /** Drains keys that nobody drains. */
  readonly standIns: Pick<KeyStandIns, 'offer' | 'room'>;
  /** Before it resolves, nothing is started: until then stand-ins drain all. @defaultValue at once */
  readonly supervised?: Promise<void>;
  /** Ends the tries of dead processes. */
  readonly endDeadTries: () => Promise<Omit<DeadTries, 'gaveUp'>>;
  /** Must not throw. */
  readonly failed: (failure: ParkedWatchFailure) => void;
  /** True while Temporal counts as away for any reason, including a failed worker. */
  readonly away: () => boolean;
  /** Temporal has answered every request. Must not throw. */
  readonly answered: () => void;
}

const lookEveryMs = 1_000;
/** While other processes have tries in hand, because they may die. */
const watchEveryMs = 400;
/** Between looks after nudges, so that a consumer that parks many keys needs few looks. */
const nudgedEveryMs = 50;
const againMs = { first: 1_000, most: 10_000 } as const;
const keysPerLook = 100;
/** How long a due key waits for its workflow, while Temporal answers. */
const graceMs = 300;
/** Between looks at the times at which keys become due, while no workflow can be waited for. */
const dueEveryMs = 200;

/**
 * Ensures that every parked key of a consumer group that waits for a try has its workflow, and so has every bulk operation
 * on messages that the group keeps. A due key that its workflow does not drain is offered to the stand-ins: after a short
 * grace, or at once while Temporal does not answer.
 *
 * Level-triggered: it looks at the current rows, so a start that fails or is lost is repeated, and it resumes after an
 * outage of the database or Temporal. Any number of consumers may watch the same group.
 */
export class ParkedWatcher {
  readonly #input: ParkedWatcherInput;
  readonly #starts: WorkflowStarts;
  #running: Promise<void> | undefined;
  #stopped = false;
  #nudged = false;
  #endPause: (() => void) | undefined;
  #supervised: boolean;
  #overdueAfter: KeyCursor | null = null;
  #nextLookMs = lookEveryMs;
  /** The last look may have left some due keys out. */
  #full = false;

  constructor(input: ParkedWatcherInput) {
    this.#input = input;
    this.#starts = new WorkflowStarts(input);
    this.#supervised = input.supervised === undefined;
    void this.#supervise(input.supervised);
  }

  async #supervise(begin: Promise<void> | undefined): Promise<void> {
    await begin;
    this.#supervised = true;
    this.nudge();
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

  /** Looks for more: the stand-ins have drained what they were offered. */
  drained(): void {
    if (this.#full) this.nudge();
  }

  /** Stops looking, and waits for the current starts, unless Temporal does not answer. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.nudge();
    await Promise.all([this.#running, this.#starts.stop()]);
  }

  async #run(): Promise<void> {
    let failures = 0;
    while (!this.#stopped) {
      this.#nudged = false;
      try {
        await this.#look();
        failures = 0;
        await this.#pause(nudgedEveryMs, () => this.#stopped);
        await this.#pause(this.#nextLookMs - nudgedEveryMs, () => this.#nudged);
      } catch (error) {
        failures += 1;
        const retryInMs = pauseAfter(failures, againMs);
        if (!this.#stopped) this.#input.failed({ what: 'look', error, retryInMs });
        await this.#pause(retryInMs, () => this.#stopped);
      }
    }
  }

  /** Looks once, and starts and drains what it finds. */
  async #look(): Promise<void> {
    const { endDeadTries, group, standIns, withSql } = this.#input;
    const dead = await endDeadTries();
    const answering = this.#supervised && this.#starts.answering;
    const starting = this.#supervised && this.#starts.ready;
    const found = await withSql(async (sql) => {
      const untold = starting ? await untoldKeys(sql, group, keysPerLook) : [];
      const due = await overdueKeys(sql, group, this.#overdueAfter, keysPerLook);
      this.#overdueAfter = due.next;
      const inMs = answering ? null : await nextKeyInMs(sql, group);
      const late = due.idle.filter(({ lateMs }) => (lateMs ?? 0) >= graceMs).slice(0, standIns.room);
      // A late workflow may be lost, and is requested again: this also reveals that Temporal is away.
      const again = answering ? late.map((key) => ({ ...key, replace: 'never' as const })) : [];
      const keys = starting
        ? await this.#wantedKeys(sql, [...dead.keys, ...untold, ...due.keys, ...again])
        : [];
      return {
        keys,
        free: answering ? late : due.idle,
        inMs,
        due,
        bulks: starting ? await this.#wantedBulks(sql) : undefined,
      };
    });
    if (this.#stopped) return;
    const { keys, bulks, due, free } = found;
    this.#full = due.next !== null;
    standIns.offer(free.map(({ keyId }) => keyId));
    if (starting)
      this.#starts.begin({ keys, bulks }, () => {
        if (keys.length >= keysPerLook) this.nudge();
      });
    const waiting = due.idle.length > free.length && standIns.room > 0 ? graceMs : lookEveryMs;
    const others = dead.others ? watchEveryMs : lookEveryMs;
    this.#nextLookMs = Math.min(others, waiting, Math.max(dueEveryMs, found.inMs ?? lookEveryMs));
  }

  /** @param found in the order in which they are started; the first reason to start a key counts */
  async #wantedKeys(sql: Sql, found: readonly WantedKey[]): Promise<readonly WantedKey[]> {
    const byId = new Map(found.toReversed().map((key) => [key.keyId, key]));
    const wanted = [...byId.values()].toReversed();
    return wanted.length > 0 || this.#starts.hostsKeys ? wanted : anyKey(sql, this.#input.group);
  }

  /** `undefined`: none runs, so none has to be hosted. */
  async #wantedBulks(sql: Sql): Promise<readonly BulkStart[] | undefined> {
    const { group } = this.#input;
    return this.#starts.hostsBulks || (await anyBulkRuns(sql, group)) ? wantedBulks(sql, group) : undefined;
  }

  /** Waits; a nudge ends the wait if `isOver` then holds. */
  async #pause(ms: number, isOver: () => boolean): Promise<void> {
    if (isOver()) return;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = startTimer(end, ms);
      this.#endPause = () => {
        if (isOver()) end();
      };
    });
    this.#endPause = undefined;
  }
}
