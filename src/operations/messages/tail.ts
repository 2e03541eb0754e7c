import type { Duration } from '../../core/duration.ts';
import type { Table } from '../../core/options/collections.ts';
import { optionTable } from '../../core/options/option-table.ts';
import { duration, optional, unchecked, whole } from '../../core/options/values.ts';
import { rest } from '../../core/rest.ts';
import { unlessStopped } from '../../core/unless-stopped.ts';
import type { ListedMessage, MessageFilter } from '../../store/message/list.ts';
import { lookForTail, type TailedRow, type TailPlace } from '../../store/message/tail.ts';
import { checkFilter } from '../filters.ts';
import { list } from '../list.ts';
import type { OnDatabase } from '../operation-options.ts';

export type { TailPlace };

/** Options of `tail`. */
export interface TailOptions {
  /** Ends the iteration when it fires. @defaultValue it ends with a `break`, or an error */
  readonly signal?: AbortSignal;
  /** Between two looks, each of which is one query, 100 ms to an hour. @defaultValue 1 second */
  readonly interval?: Duration;
  /** With how many of the newest messages it begins, at most, 0 to 200. @defaultValue 0 */
  readonly last?: number;
}

/** A message as a look of `tail` found it. */
export interface TailedMessage extends ListedMessage {
  /** True: more had changed than a look reads, or than are followed, and some messages before this one were left out. */
  readonly gap: boolean;
}

const tailOptions = optionTable('tail', {
  signal: optional(unchecked),
  interval: duration('100ms', '1h', '1s'),
  last: whole(0, 200, 0),
} satisfies Table<TailOptions>);

/** Ready messages that are read again at each look; of more, the newest. */
const maxFollowed = 500;
/** Messages whose last version is remembered, so that it is reported once. */
const maxRemembered = 20_000;

/** Follows the messages that match a filter: see `Operations.tail`. */
export async function* tail(
  on: OnDatabase,
  filter: MessageFilter,
  options: TailOptions,
): AsyncGenerator<TailedMessage, void, undefined> {
  for await (const { messages } of lookAgain(on, filter, options)) yield* messages;
}

/** One look of a tail. */
export interface TailStep {
  /** What changed, in the order of positions; empty if nothing did. */
  readonly messages: readonly TailedMessage[];
  /** What another tail with the same filter continues after. */
  readonly place: TailPlace;
}

/**
 * Looks at the messages that match a filter, again and again.
 *
 * @param from of another tail: what changed since is reported; a message that was ready then, and was published since, may be left out
 */
export async function* lookAgain(
  on: OnDatabase,
  filter: MessageFilter,
  options: TailOptions,
  from?: TailPlace,
): AsyncGenerator<TailStep, void, undefined> {
  const { interval, last } = tailOptions.read(options);
  const { signal = new AbortController().signal } = options;
  const checked = checkFilter(filter);
  const news = new TailNews();
  const look = (place?: TailPlace) =>
    unlessAborted(
      on((at) => lookForTail(at, checked, place, news.followed)),
      signal,
    );
  const latest = async (): Promise<readonly ListedMessage[]> => {
    if (last === 0) return [];
    const found = await unlessAborted(
      on((at) => list(at, filter, { limit: last })),
      signal,
    );
    return found?.messages ?? [];
  };
  let found = await look(from);
  if (found === undefined) return;
  if (from === undefined) {
    news.remember(found.rows);
    // After the first look: what is stored in between is found twice, and reported once.
    const rows = (await latest()).map((message) => ({ ...message, matches: true }));
    yield { messages: news.of(rows, false, true), place: found };
  } else yield { messages: news.of(found.rows, found.full), place: found };
  for (;;) {
    await rest(interval, signal);
    if (signal.aborted) return;
    found = await look(found);
    if (found === undefined) return;
    yield { messages: news.of(found.rows, found.full), place: found };
  }
}

/** What changed between looks. */
class TailNews {
  readonly #versions = new Map<string, string>();
  readonly #ready = new Set<string>();
  #gap = false;

  /** Ids of ready messages: a lane that passes one of them does not write it. All other changes are found by themselves. */
  get followed(): readonly string[] {
    return [...this.#ready];
  }

  /** Counts these as reported. */
  remember(rows: readonly ListedMessage[]): void {
    for (const row of rows) this.#isNew(row);
  }

  /** The messages that changed, in the order of their positions. @param again also those that are remembered */
  of(rows: readonly TailedRow[], full: boolean, again = false): readonly TailedMessage[] {
    this.#gap ||= full;
    const changed = rows.toSorted(byPosition).filter((row) => this.#isNew(row) || again);
    for (const row of changed) this.#follow(row);
    return changed.flatMap(({ matches, ...message }) => {
      if (!matches) return [];
      const gap = this.#gap;
      this.#gap = false;
      return [{ ...message, gap }];
    });
  }

  #isNew({ id, state, attempts, position }: ListedMessage): boolean {
    const version = [state, attempts, position].join(' ');
    if (this.#versions.get(id) === version) return false;
    // The one that changed last is forgotten last.
    this.#versions.delete(id);
    this.#versions.set(id, version);
    dropOldest(this.#versions, maxRemembered);
    return true;
  }

  #follow({ id, state }: ListedMessage): void {
    this.#ready.delete(id);
    if (state !== 'ready') return;
    this.#ready.add(id);
    if (dropOldest(this.#ready, maxFollowed)) this.#gap = true;
  }
}

function byPosition(one: ListedMessage, other: ListedMessage): number {
  const [a, b] = [BigInt(one.position), BigInt(other.position)];
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** @returns whether there were too many */
function dropOldest(kept: Map<string, unknown> | Set<string>, most: number): boolean {
  const [oldest] = kept.keys();
  return kept.size > most && oldest !== undefined && kept.delete(oldest);
}

/** `undefined` if the signal fires first. */
async function unlessAborted<Value>(
  promise: Promise<Value>,
  signal: AbortSignal,
): Promise<Value | undefined> {
  try {
    return await unlessStopped(promise, signal);
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}
