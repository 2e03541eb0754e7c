import { atMost } from '../../core/at-most.ts';
import type { Duration } from '../../core/duration.ts';
import { OutboxError } from '../../core/errors.ts';
import { type Lane, maxLanes } from '../../core/lane.ts';
import { rest } from '../../core/rest.ts';
import type { Author } from '../../store/audit/audit.ts';
import type { Database } from '../../store/database/database.ts';
import {
  beginChange,
  ChangeGone,
  readTopicCounts,
  type TopicChange,
  type TopicCounts,
} from '../../store/lane/lanes-change.ts';
import { emptyHands } from '../../store/lane/lanes-empty.ts';
import { replaceMessages } from '../../store/lane/lanes-replace.ts';
import { endLanesChange, stillPrepared, stillRunning, switchLanes } from '../../store/lane/lanes-switch.ts';
import { readLanes } from '../../store/lane/topics.ts';
import { authorOf, durationOf, type OperationOptions } from '../operation-options.ts';
import { untilHandsAreEmpty } from './pause.ts';

/** Options of a change of lanes. */
export interface LanesChangeOptions extends Omit<OperationOptions, 'dryRun'> {
  /** How long one call may wait, 0 or more. @defaultValue `'60s'` */
  readonly timeout?: Duration | undefined;
  /** Ends the wait; what has been done stays. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * How far a change has come. Until it is done, the topic is not delivered. Repeating the call continues the change; of lanes, a
 * relay of the topic continues it too.
 */
export type TopicChangeAnswer =
  | {
      readonly done: true;
      /** Messages that this call moved to another lane, 0 or more. */
      readonly moved: number;
    }
  | {
      readonly done: false;
      /** What the change still waits for: a sending relay, open transactions, locked rows, or lagging consumers. */
      readonly waitingFor: 'deliveries' | 'transactions' | 'messages' | 'consumers';
      /** Lanes, process ids of the server, or groups with their lag, for display. */
      readonly who: readonly string[];
    };

const defaultTimeoutMs = 60_000;
const askEveryMs = 100;

/**
 * Changes the number of lanes of a topic without blocking its writers. The order of every key is kept.
 *
 * The topic is not delivered meanwhile: relays finish what they have in hand, the new number is written, every
 * transaction of the database that began before that must end, and every unpublished message moves to the lane of its
 * key. Each step is stored; if a call is killed or out of time, a relay of the topic completes the change, or the next call. A call
 * with another number replaces the previous change, so a call with the old number reverts it.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID`, `OUTBOX_TOPIC_UNKNOWN`, `OUTBOX_CHANGE_UNDER_WAY`
 */
export async function changeLanes(
  database: Database,
  topic: string,
  lanes: number,
  options: LanesChangeOptions,
): Promise<TopicChangeAnswer> {
  if (!Number.isInteger(lanes) || lanes < 1 || lanes > maxLanes)
    throw invalidCount('lanes', `an integer from 1 to ${maxLanes}`);
  const before = await knownTopic(database, topic);
  if (before.lanes === lanes && before.change === null) return { done: true, moved: 0 };
  const author = authorOf(options);
  const change = await beginChange(database, { topic, kind: 'lanes', wanted: lanes }, author);
  return continueLanesChange(database, change, author, options);
}

/**
 * Continues a change of lanes until it is complete, or the time is over. Any number of callers may do so.
 *
 * @throws OutboxError `OUTBOX_CHANGE_UNDER_WAY` if another call has replaced the change meanwhile
 */
export async function continueLanesChange(
  database: Database,
  change: TopicChange,
  author: Author,
  options: Pick<LanesChangeOptions, 'timeout' | 'signal'>,
): Promise<TopicChangeAnswer> {
  const patience = patienceOf(options);
  try {
    const busy = await emptyLanes(database, change.topic, patience);
    if (busy.length > 0) return { done: false, waitingFor: 'deliveries', who: busy };
    if (change.step === 'begun') await switchLanes(database, change, author);
    const open = await outlive(database, change, patience);
    if (open.length > 0) return { done: false, waitingFor: 'transactions', who: open };
    return await moveAll(database, change, author, patience);
  } catch (error) {
    return overtaken(database, change, error);
  }
}

/**
 * What a call answers that another call has overtaken.
 *
 * @param error of the call; any but `ChangeGone` is thrown
 * @throws OutboxError `OUTBOX_CHANGE_UNDER_WAY` if the other one has replaced the change
 */
export async function overtaken(
  database: Database,
  { topic, kind, wanted }: TopicChange,
  error: unknown,
): Promise<TopicChangeAnswer> {
  if (!(error instanceof ChangeGone)) throw error;
  const now = await readTopicCounts(database, topic);
  if (now?.[kind] === wanted && now.change === null) return { done: true, moved: 0 };
  throw new OutboxError('OUTBOX_CHANGE_UNDER_WAY', `Another call changes the ${kind} of "${topic}".`, {
    details: { topic },
  });
}

async function moveAll(
  database: Database,
  change: TopicChange,
  author: Author,
  patience: Patience,
): Promise<TopicChangeAnswer> {
  let moved = 0;
  do {
    moved += await replaceMessages(database, change, () => !patience.stopped());
    if (await endLanesChange(database, change, author)) return { done: true, moved };
  } while (await patience.again());
  return { done: false, waitingFor: 'messages', who: [] };
}

/**
 * Waits until every transaction that may store by the old number has ended, and returns those that have not. One that is prepared
 * meanwhile appears under another name, so prepared ones are asked for after the running ones have ended.
 */
async function outlive(
  database: Database,
  change: TopicChange,
  patience: Patience,
): Promise<readonly string[]> {
  for (const ask of [stillRunning, stillPrepared]) {
    let open = await ask(database, change);
    while (open.length > 0 && (await patience.again())) open = await ask(database, change);
    if (open.length > 0) return open.map(({ name }) => name);
  }
  return [];
}

/** Of the five connections that operations have: who waits for one for five seconds counts the server as away. */
const lanesAtOnce = 3;

/** Waits until no relay has messages of the topic in hand, and returns the lanes where one still does. */
export async function emptyLanes(
  database: Database,
  topic: string,
  patience: Patience,
): Promise<readonly string[]> {
  const stillDraining = await untilHandsAreEmpty(database, { topic }, patience.leftMs());
  let busy: readonly Lane[] = stillDraining.length > 0 ? stillDraining : await readLanes(database, [topic]);
  while (stillDraining.length === 0) {
    const answers = await atMost(lanesAtOnce, busy, async (lane) => ({
      lane,
      empty: await emptyHands(database, lane),
    }));
    busy = answers.filter(({ empty }) => !empty).map(({ lane }) => lane);
    if (busy.length === 0 || !(await patience.again())) break;
  }
  return busy.map(({ lane }) => `lane ${lane}`);
}

/** How long a change may still wait. */
export interface Patience {
  leftMs(): number;
  /** Waits briefly. @returns false if no time is left */
  again(): Promise<boolean>;
  /** The caller does not want to go on. */
  stopped(): boolean;
}

export function patienceOf({ timeout, signal }: Pick<LanesChangeOptions, 'timeout' | 'signal'>): Patience {
  const deadline = performance.now() + durationOf('timeout', timeout, defaultTimeoutMs);
  const leftMs = (): number => (signal?.aborted ? 0 : Math.max(0, deadline - performance.now()));
  return {
    leftMs,
    again: async () => {
      if (leftMs() === 0) return false;
      await rest(askEveryMs, signal);
      return true;
    },
    stopped: () => signal?.aborted ?? false,
  };
}

export async function knownTopic(database: Database, topic: string): Promise<TopicCounts> {
  const counts = await readTopicCounts(database, topic);
  if (counts !== undefined) return counts;
  throw new OutboxError('OUTBOX_TOPIC_UNKNOWN', `No relay has announced the topic "${topic}".`, {
    details: { topic },
  });
}

export function invalidCount(option: string, wanted: string): OutboxError {
  return new OutboxError('OUTBOX_OPTION_INVALID', `The number of ${option} is not ${wanted}.`, {
    details: { option },
  });
}
