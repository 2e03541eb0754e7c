import type { Duration } from '../core/duration.ts';
import { OutboxError } from '../core/errors.ts';
import { type Lane, maxLanes } from '../core/lane.ts';
import { rest } from '../core/rest.ts';
import type { Author } from '../store/audit/author.ts';
import type { Database } from '../store/database/database.ts';
import {
  beginChange,
  ChangeGone,
  readTopicCounts,
  type TopicChange,
  type TopicCounts,
} from '../store/lane/lanes-change.ts';
import { emptyHands } from '../store/lane/lanes-empty.ts';
import { replaceMessages } from '../store/lane/lanes-replace.ts';
import {
  endLanesChange,
  preparedTransactions,
  runningTransactions,
  switchLanes,
} from '../store/lane/lanes-switch.ts';
import { readLanes } from '../store/lane/topics.ts';
import { authorOf, durationOf, type OperationOptions } from './operation-options.ts';
import { untilHandsAreEmpty } from './pause.ts';

/** Who changes lanes, and how long to wait. */
export interface LanesChangeOptions extends Omit<OperationOptions, 'dryRun'> {
  /** How long one call may wait, 0 or more. @defaultValue `'60s'` */
  readonly timeout?: Duration | undefined;
  /** Ends the waiting; what is done so far stays. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * How far a change is. While it is not done the topic is not delivered, and the same call goes on where this one ended.
 */
export type ChangeAnswer =
  | {
      readonly done: true;
      /** Messages that changed their lane in this call, 0 or more. */
      readonly moved: number;
    }
  | {
      readonly done: false;
      /** What could not be waited for: a sending relay, open transactions, locked rows, or consumers that lag. */
      readonly waitingFor: 'deliveries' | 'transactions' | 'messages' | 'consumers';
      /** Lanes, process ids of the server, or groups with their lag, for people. */
      readonly who: readonly string[];
    };

const defaultTimeoutMs = 60_000;
const askEveryMs = 100;

/**
 * Changes the number of lanes of a topic while its writers go on. The order of every key is kept.
 *
 * The topic is not delivered meanwhile: relays finish what they have in hand, the new number is written, every
 * transaction of the database that began before that has to end, and every message that is not published moves to the
 * lane of its key. Each step is stored; a call that was killed is completed by the next one. A call with another number
 * replaces the one before, so the old number takes a change back.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID`, `OUTBOX_TOPIC_UNKNOWN`, `OUTBOX_CHANGE_UNDER_WAY`
 */
export async function changeLanes(
  database: Database,
  topic: string,
  lanes: number,
  options: LanesChangeOptions,
): Promise<ChangeAnswer> {
  if (!Number.isInteger(lanes) || lanes < 1 || lanes > maxLanes)
    throw invalidCount('lanes', `an integer from 1 to ${maxLanes}`);
  const before = await knownTopic(database, topic);
  if (before.lanes === lanes && before.change === null) return { done: true, moved: 0 };
  const author = authorOf(options);
  const change = await beginChange(database, { topic, kind: 'lanes', wanted: lanes }, author);
  return continueLanesChange(database, change, author, options);
}

/**
 * Carries a change of lanes that has begun on until it is complete, or the time is over. Any number of callers may.
 *
 * @throws OutboxError `OUTBOX_CHANGE_UNDER_WAY` when another call has replaced the change meanwhile
 */
export async function continueLanesChange(
  database: Database,
  change: TopicChange,
  author: Author,
  options: Pick<LanesChangeOptions, 'timeout' | 'signal'>,
): Promise<ChangeAnswer> {
  const patience = patienceOf(options);
  try {
    const busy = await emptyLanes(database, change.topic, patience);
    if (busy.length > 0) return { done: false, waitingFor: 'deliveries', who: busy };
    if (change.step === 'begun') await switchLanes(database, change, author);
    const open = await outlive(database, patience);
    if (open.length > 0) return { done: false, waitingFor: 'transactions', who: open };
    return await moveAll(database, change, author, patience);
  } catch (error) {
    if (!(error instanceof ChangeGone)) throw error;
    const now = await readTopicCounts(database, change.topic);
    if (now?.lanes === change.wanted && now.change === null) return { done: true, moved: 0 };
    throw new OutboxError('OUTBOX_CHANGE_UNDER_WAY', `Another call changes the lanes of "${change.topic}".`, {
      details: { topic: change.topic },
    });
  }
}

async function moveAll(
  database: Database,
  change: TopicChange,
  author: Author,
  patience: Patience,
): Promise<ChangeAnswer> {
  let moved = 0;
  do {
    moved += await replaceMessages(database, change);
    if (await endLanesChange(database, change, author)) return { done: true, moved };
  } while (await patience.again());
  return { done: false, waitingFor: 'messages', who: [] };
}

/**
 * Waits until every transaction that is open now has ended, and answers those that have not. Whoever is prepared
 * meanwhile ends under another name, so prepared ones are looked up when the running ones have gone.
 */
async function outlive(database: Database, patience: Patience): Promise<readonly string[]> {
  for (const read of [runningTransactions, preparedTransactions]) {
    const older = await read(database);
    let open = older;
    while (open.length > 0 && (await patience.again())) {
      const there = new Set((await read(database)).map(({ id }) => id));
      open = older.filter(({ id }) => there.has(id));
    }
    if (open.length > 0) return open.map(({ name }) => name);
  }
  return [];
}

/** Waits until nobody has messages of the topic in hand, and answers the lanes of which somebody still has. */
export async function emptyLanes(
  database: Database,
  topic: string,
  patience: Patience,
): Promise<readonly string[]> {
  const holding = await untilHandsAreEmpty(database, { topic }, patience.leftMs());
  let busy: readonly Lane[] = holding.length > 0 ? holding : await readLanes(database, [topic]);
  while (holding.length === 0) {
    const answers = await Promise.all(
      busy.map(async (lane) => ({ lane, empty: await emptyHands(database, lane) })),
    );
    busy = answers.filter(({ empty }) => !empty).map(({ lane }) => lane);
    if (busy.length === 0 || !(await patience.again())) break;
  }
  return busy.map(({ lane }) => `lane ${lane}`);
}

/** How long a change may still wait. */
export interface Patience {
  leftMs(): number;
  /** Waits a moment; `false` when there is no time left. */
  again(): Promise<boolean>;
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
