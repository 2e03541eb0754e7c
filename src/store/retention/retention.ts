import { setTimeout as delay } from 'node:timers/promises';
import type { RetentionRules } from '../../core/retention.ts';
import type { State } from '../../core/transitions.ts';
import type { Database } from '../database/database.ts';
import { wholeDatabase } from '../inbox/epochs.ts';
import { type KeptWindow, keepWindow, noteWindow } from '../inbox/window.ts';
import {
  archiveFinished,
  archivePassed,
  type FinishedPlace,
  firstFinished,
  readArchivableLanes,
} from './archive.ts';
import { type DeletedPage, deleteAttempts, deleteBatches, readNotedLanes } from './deletes.ts';
import { dropExpired, makePartitions } from './history.ts';

/** What one round of the retention did. */
export interface RetentionOutcome {
  /** Messages moved to the history. */
  readonly archived: number;
  /** Deleted rows of batches and attempts, whose messages are gone. */
  readonly deleted: { readonly batches: number; readonly attempts: number };
  /** What was done with the processed ids of consumers of this database. */
  readonly processed: KeptWindow;
  /** Number of dropped months of the history. */
  readonly dropped: number;
  /** Number of expired months of the history that were in use, and are left to the next round. */
  readonly inUse: number;
  /** False if the round ran out of time; the next one continues. */
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
}

/** An owner that has been frozen for this long will not wake up and send. */
const suspectMs = 24 * 60 * 60_000;
/** Pages of one lane without anything to move, after which the lane is left to the next round. */
const idlePages = 10;
/** States that are final on their own, whatever the rules of the topic. */
const finished: readonly State[] = ['published', 'confirmed', 'canceled', 'superseded', 'discarded'];

/**
 * One round: moves finished messages to the history, deletes what has expired, drops old months.
 *
 * Every transaction is one statement on one page, and does not wait for row locks. Between pages it rests for as long as the
 * page took, so that it uses at most half of one connection's time. The next round does what this one does not reach;
 * rounds of several relays may overlap.
 */
export async function applyRetention(input: RetentionInput): Promise<RetentionOutcome> {
  const { database, rules } = input;
  const round = new Round(input);
  await makePartitions(database);
  // First, because it is short: rounds that run out of time must not keep processed ids for ever.
  const processed = await keepProcessed(round);
  const archived = (await archiveLanes(round)) + (await archiveStates(round));
  const deleted = await deleteOld(round);
  const { dropped, inUse } = await dropExpired(database, rules.historyMs);
  return { archived, deleted, processed, dropped, inUse, complete: !round.over };
}

/** Time and size of the pages of one round. */
class Round {
  readonly input: RetentionInput;
  readonly limit: number;
  readonly #untilMs: number;

  constructor(input: RetentionInput) {
    this.input = input;
    this.limit = input.pageRows ?? 1_000;
    this.#untilMs = performance.now() + (input.withinMs ?? 240_000);
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
    await delay(performance.now() - startedAt, undefined, { signal: this.input.signal }).catch(
      () => undefined,
    );
    return result;
  }
}

async function archiveLanes(round: Round): Promise<number> {
  const { database, rules } = round.input;
  const ageMs = rules.archiveAfterMs;
  let archived = 0;
  for (const lane of await readArchivableLanes(database, ageMs, Math.max(ageMs, suspectMs))) {
    let after: string | null = '0';
    for (let idle = 0; after !== null && idle < idlePages && !round.over; ) {
      const place: string = after;
      const { moved, next } = await round.page(() =>
        archivePassed(database, lane, { after: place, ageMs, limit: round.limit }),
      );
      archived += moved;
      idle = moved === 0 ? idle + 1 : 0;
      after = next;
    }
  }
  return archived;
}

async function archiveStates(round: Round): Promise<number> {
  const { archiveAfterMs, archiveFailedAfterMs } = round.input.rules;
  let archived = 0;
  for (const state of finished) archived += await archiveState(round, state, archiveAfterMs);
  if (archiveFailedAfterMs !== null) archived += await archiveState(round, 'failed', archiveFailedAfterMs);
  return archived;
}

async function archiveState(round: Round, state: State, ageMs: number): Promise<number> {
  let archived = 0;
  let after: FinishedPlace | null = firstFinished;
  while (after !== null && !round.over) {
    const place: FinishedPlace = after;
    const { moved, next } = await round.page(() =>
      archiveFinished(round.input.database, state, { after: place, ageMs, limit: round.limit }),
    );
    archived += moved;
    after = next;
  }
  return archived;
}

async function deleteOld(round: Round): Promise<RetentionOutcome['deleted']> {
  const { database, rules } = round.input;
  const { limit } = round;
  // A batch must not expire before its messages.
  const batchAgeMs = Math.max(rules.batchesMs, rules.archiveAfterMs);
  let batches = 0;
  for (const lane of await readNotedLanes(database))
    batches += await deletePages(round, (after) =>
      deleteBatches(database, lane, { after, ageMs: batchAgeMs, limit }),
    );
  const attempts = await deletePages(round, (after) =>
    deleteAttempts(database, { after, ageMs: rules.attemptsMs, limit }),
  );
  return { batches, attempts };
}

/** Consumers do this, too, with the same window: so neither the relay nor the consumer depends on the other one. */
async function keepProcessed({ input, leftMs }: Round): Promise<KeptWindow> {
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

async function deletePages(
  round: Round,
  page: (after: string | null) => Promise<DeletedPage>,
): Promise<number> {
  let deleted = 0;
  let after: string | null = null;
  do {
    const place: string | null = after;
    const answer: DeletedPage = await round.page(() => page(place));
    deleted += answer.deleted;
    after = answer.next;
  } while (after !== null && !round.over);
  return deleted;
}
