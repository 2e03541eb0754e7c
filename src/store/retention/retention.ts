import { rest } from '../../core/rest.ts';
import type { RetentionRules } from '../../core/retention.ts';
import type { State } from '../../core/transitions.ts';
import type { Database } from '../database/database.ts';
import { wholeDatabase } from '../inbox/epochs.ts';
import { keepWindow, noteWindow, type WindowUpkeep } from '../inbox/window.ts';
import { dropUnwatched } from '../installation/standing-groups.ts';
import { dropIdleRates } from '../lane/rate.ts';
import {
  archiveFinished,
  archivePassed,
  type FinishedCursor,
  firstFinished,
  readArchivableLanes,
} from './archive.ts';
import { deleteAttempts, deleteBatches, readNotedLanes } from './deletes.ts';
import { dropExpired, makePartitions } from './history.ts';
import { type LeafRules, moveLeaves } from './leaves.ts';
import { Progress, type Task, takeTurns } from './turns.ts';

/** What one round of the retention did. */
export interface RetentionOutcome {
  /** Messages moved to the history. */
  readonly archived: number;
  /** Deleted rows of batches and attempts, whose messages are gone. */
  readonly deleted: { readonly batches: number; readonly attempts: number };
  /** What was done with the processed ids of consumers of this database. */
  readonly processed: WindowUpkeep;
  /** Number of dropped months of the history, and leaves of the log. */
  readonly dropped: number;
  /** Number of months and leaves that were in use, and are left to the next round. */
  readonly inUse: number;
  /** False if the round ran out of time, or was stopped; the next one continues. */
  readonly complete: boolean;
}

export interface RetentionInput {
  readonly database: Database;
  readonly rules: RetentionRules;
  readonly signal: AbortSignal;
  /** Called after every page. */
  readonly progress: () => void;
  /** Rows of a page, and so of a transaction. @defaultValue 1,000 */
  readonly pageRows?: number;
  /** How long a round may take. @defaultValue 240,000 */
  readonly withinMs?: number;
  /** How long a leaf of the log is the current one. @defaultValue a quarter of `archiveAfter`, or more */
  readonly leafMs?: number;
  /** Names of topics whose failures `onFailed` gets: a message stays until then. @defaultValue none */
  readonly tellingOf?: readonly string[];
  /** Of the rounds before; this one goes on there. @defaultValue at the beginning */
  readonly from?: Progress;
}

/** An owner that has been frozen for this long will not wake up and send. */
const suspectMs = 24 * 60 * 60_000;
/** Pages of one lane without anything to move, after which the lane is left to the next round. */
const idlePages = 10;
/** Of a round: what is not done in this time shows that the archive is behind, and has no time to rest. */
const restingShare = 0.25;
/** States that are final on their own, whatever the rules of the topic. */
const finished: readonly State[] = [
  'published',
  'confirmed',
  'canceled',
  'superseded',
  'discarded',
  'expired',
];

/**
 * One round: moves finished messages to the history, deletes what has expired, drops old months.
 *
 * Every transaction is one statement on one page, and does not wait for row locks. Lanes, states and deletes take turns page by
 * page, so that a lane with more than a round can move keeps nothing else waiting. Between pages it rests for as long as the
 * page took, to use at most half of one connection's time, unless it is behind. The next round goes on where this one ends;
 * rounds of several relays may overlap.
 */
export async function applyRetention(input: RetentionInput): Promise<RetentionOutcome> {
  const { database, rules } = input;
  const round = new Round(input);
  await makePartitions(database);
  const moving = moveLeaves(database, leafRules(input), input);
  // What is wrong with one leaf fails the round, but keeps nothing else.
  await moving.catch(() => undefined);
  // First, because it is short: rounds that run out of time must not keep processed ids forever.
  const processed = await keepProcessed(round);
  const tasks = [...(await laneTasks(round)), ...stateTasks(round), ...(await deleteTasks(round))];
  const complete = await takeTurns(tasks, round.progress, () => round.over);
  round.progress.behind = !complete;
  await dropIdleRates(database);
  await dropUnwatched(database);
  const months = await dropExpired(database, rules.historyMs);
  const leaves = await moving;
  const { archived, batches, attempts } = round.done;
  return {
    archived: archived + leaves.archived,
    deleted: { batches, attempts },
    processed,
    dropped: months.dropped + leaves.dropped,
    inUse: months.inUse + leaves.inUse,
    complete,
  };
}

/**
 * A leaf is archived and dropped as a whole, so there are some of them within `archiveAfter`. Within `history` there are two dozen at
 * most: a sender's own id is looked up in each of them, and each stays locked until the sender's transaction ends.
 */
function leafRules({ rules, leafMs }: RetentionInput): LeafRules {
  const { archiveAfterMs, historyMs } = rules;
  return {
    leafMs: leafMs ?? Math.max(archiveAfterMs / 4, historyMs / 24),
    archiveAfterMs,
    suspectAgeMs: Math.max(archiveAfterMs, suspectMs),
    historyMs,
  };
}

/** Time, size and results of the pages of one round. */
class Round {
  readonly input: RetentionInput;
  readonly limit: number;
  readonly progress: Progress;
  readonly done = { archived: 0, batches: 0, attempts: 0 };
  readonly #untilMs: number;
  readonly #restsUntilMs: number;

  constructor(input: RetentionInput) {
    const withinMs = input.withinMs ?? 240_000;
    this.input = input;
    this.limit = input.pageRows ?? 1_000;
    this.progress = input.from ?? new Progress();
    this.#untilMs = performance.now() + withinMs;
    this.#restsUntilMs = this.progress.behind ? 0 : performance.now() + withinMs * restingShare;
  }

  /** True if no time is left for another page. */
  get over(): boolean {
    return this.input.signal.aborted || this.leftMs <= 0;
  }

  get leftMs(): number {
    return this.#untilMs - performance.now();
  }

  /** Runs one page, and rests. */
  async page<Result>(work: () => Promise<Result>): Promise<Result> {
    const startedAt = performance.now();
    const result = await work();
    this.input.progress();
    const endedAt = performance.now();
    if (endedAt < this.#restsUntilMs) await rest(endedAt - startedAt, this.input.signal);
    return result;
  }

  /** A task that walks page by page from the cursor `first`, or from where it stood when the last round ended. */
  walk(
    name: string,
    first: string,
    page: (after: string) => Promise<{ readonly count: number; readonly next: string | null }>,
    mostIdle = Number.POSITIVE_INFINITY,
  ): Task {
    const { cursors } = this.progress;
    let idle = 0;
    return {
      name,
      page: async () => {
        const { count, next } = await this.page(() => page(cursors.get(name) ?? first));
        idle = count === 0 ? idle + 1 : 0;
        if (next === null) cursors.delete(name);
        else cursors.set(name, next);
        return next !== null && idle < mostIdle;
      },
    };
  }
}

async function laneTasks(round: Round): Promise<readonly Task[]> {
  const { database, rules } = round.input;
  const ageMs = rules.archiveAfterMs;
  const lanes = await readArchivableLanes(database, ageMs, Math.max(ageMs, suspectMs));
  return lanes.map((lane) =>
    round.walk(
      `lane ${lane.topic}/${lane.lane}`,
      '0',
      async (after) => {
        const { moved, next } = await archivePassed(database, lane, { after, ageMs, limit: round.limit });
        round.done.archived += moved;
        return { count: moved, next };
      },
      idlePages,
    ),
  );
}

function stateTasks(round: Round): readonly Task[] {
  const { archiveAfterMs, archiveFailedAfterMs } = round.input.rules;
  const tasks = finished.map((state) => stateTask(round, state, archiveAfterMs));
  return archiveFailedAfterMs === null ? tasks : [...tasks, stateTask(round, 'failed', archiveFailedAfterMs)];
}

function stateTask(round: Round, state: State, ageMs: number): Task {
  return round.walk(`state ${state}`, textOf(firstFinished), async (cursor) => {
    const [updatedAt = '', id = ''] = cursor.split(separator);
    const { moved, next } = await archiveFinished(round.input.database, state, {
      after: { updatedAt, id },
      ageMs,
      limit: round.limit,
      tellingOf: round.input.tellingOf ?? [],
    });
    round.done.archived += moved;
    return { count: moved, next: next === null ? null : textOf(next) };
  });
}

const separator = '|';
const textOf = ({ updatedAt, id }: FinishedCursor): string => `${updatedAt}${separator}${id}`;

async function deleteTasks(round: Round): Promise<readonly Task[]> {
  const { database, rules } = round.input;
  const { limit, done } = round;
  // A batch must not expire before its messages.
  const batchAgeMs = Math.max(rules.batchesMs, rules.archiveAfterMs);
  const lanes = await readNotedLanes(database);
  return [
    ...lanes.map((lane) =>
      round.walk(`batches ${lane.topic}/${lane.lane}`, '', async (after) => {
        const { deleted, next } = await deleteBatches(database, lane, {
          after: after || null,
          ageMs: batchAgeMs,
          limit,
        });
        done.batches += deleted;
        return { count: deleted, next };
      }),
    ),
    round.walk('attempts', '', async (after) => {
      const { deleted, next } = await deleteAttempts(database, {
        after: after || null,
        ageMs: rules.attemptsMs,
        limit,
      });
      done.attempts += deleted;
      return { count: deleted, next };
    }),
  ];
}

/** Consumers do this, too, with the same window: so neither the relay nor the consumer depends on the other one. */
async function keepProcessed({ input, leftMs }: Round): Promise<WindowUpkeep> {
  const { database, rules, signal, progress } = input;
  const windowMs = rules.processedMs ?? Number.POSITIVE_INFINITY;
  await noteWindow(database, { group: wholeDatabase, windowMs });
  return keepWindow(database, {
    windowMs,
    signal,
    progress,
    withinMs: leftMs / 4,
  });
}
