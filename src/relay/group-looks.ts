import { OutboxError } from '../core/errors.ts';
import { type Loop, looking } from '../core/loop.ts';
import type { Database } from '../store/database/database.ts';
import {
  beginGroupLooks,
  forgetMovedGroups,
  type GroupAt,
  type GroupLook,
  lockGroupNote,
  noteBehind,
  writeGroupNote,
} from '../store/installation/standing-groups.ts';
import type { OffsetReader } from './passed-times.ts';
import type { RelayReport } from './report.ts';
import { type SeenGroup, standingPlaces } from './standing-places.ts';

/** What a broker knows about many groups at once. Every call rejects if the broker cannot be reached. */
interface LagReader extends OffsetReader {
  /** How many messages each group has not acknowledged, where it has committed anything. */
  lags(
    groups: readonly string[],
    addresses: readonly string[],
  ): Promise<readonly { readonly group: string; readonly address: string; readonly messages: number }[]>;
}

/** A transport that knows how far groups are, and what is watched there. */
export interface WatchedTransport {
  /** Name in the configuration. */
  readonly name: string;
  readonly offsets: LagReader;
  /** Finds addresses that do not exist; absent: all do. */
  readonly topics?: { missing(addresses: readonly string[]): Promise<readonly string[]> };
  /** An address, and the groups that must read it even if they have never committed anything. */
  readonly addresses: ReadonlyMap<string, { readonly expected: readonly string[] }>;
}

export interface GroupLooksInput {
  readonly database: Database;
  readonly transports: readonly WatchedTransport[];
  /** Names of the groups that are watched wherever they have committed, read at each look. */
  readonly groups: () => Promise<readonly string[]>;
  /** How long a group may stand: it is looked at every quarter of it. */
  readonly afterMs: number;
  readonly report: RelayReport;
}

interface Behind extends GroupAt {
  readonly expected: boolean;
}

/** Between two looks, at least and at most. */
const lookEvery = { leastMs: 250, mostMs: 60_000 };

/**
 * Notes where consumer groups stand for which messages wait, so that figures say for how long.
 *
 * One relay looks at an address for all; which one is decided anew for each look. Where a group stands is noted in a row of the address,
 * so that it goes on to stand while no relay runs, and for relays with different topics.
 */
export class GroupLooks {
  readonly #input: GroupLooksInput;
  readonly #everyMs: number;
  readonly #looks: readonly Loop[];
  readonly #writing = new Set<Promise<unknown>>();
  /** Groups whose progress their broker cannot know, as it has said: reported once. */
  readonly #unfit = new Set<string>();

  constructor(input: GroupLooksInput) {
    this.#input = input;
    this.#everyMs = Math.min(Math.max(input.afterMs / 4, lookEvery.leastMs), lookEvery.mostMs);
    // Each on its own: a broker that does not answer holds up no other.
    this.#looks = input.transports.map((transport) =>
      looking((stopping) => this.#look(transport, stopping), this.#everyMs),
    );
  }

  start(): void {
    for (const looks of this.#looks) looks.start();
  }

  /** Waits for what is being written, but not for the answer of a broker. Never rejects. */
  async stop(): Promise<void> {
    await Promise.all(this.#looks.map((looks) => looks.stop()));
    await Promise.allSettled(this.#writing);
  }

  async #look(transport: WatchedTransport, stopping: AbortSignal): Promise<void> {
    const { database } = this.#input;
    try {
      // A little less: the rest between two looks of the only relay must not miss it.
      const all = [...transport.addresses.keys()];
      const looks = await beginGroupLooks(database, transport.name, all, this.#everyMs * 0.9);
      if (looks.length === 0) return;
      const { behind, moved } = await this.#ask(
        transport,
        looks.map(({ address }) => address),
      );
      if (stopping.aborted) return;
      await forgetMovedGroups(database, looks, moved);
      const lookAt = new Map(looks.map((look) => [look.address, look]));
      for (const group of behind) {
        const look = lookAt.get(group.address);
        if (look === undefined) continue;
        await noteBehind(database, look, group.group);
        await this.#noteStanding(transport, look, group, stopping);
      }
    } catch (error) {
      this.#failed(error, stopping);
    }
  }

  /** The groups for which messages wait, and those for which none do, at each of the addresses that are looked at. */
  async #ask(
    { addresses, offsets, topics }: WatchedTransport,
    looked: readonly string[],
  ): Promise<{ readonly behind: readonly Behind[]; readonly moved: readonly GroupAt[] }> {
    const missing = (await topics?.missing(looked)) ?? [];
    const there = looked.filter((address) => !missing.includes(address));
    const expected = there.flatMap((address) => addresses.get(address)?.expected ?? []);
    const groups = new Set([...(await this.#input.groups()), ...expected]);
    const lags = await offsets.lags([...groups], there);
    const behind = there.flatMap((address) => {
      const needed = addresses.get(address)?.expected ?? [];
      const known = lags.filter((lag) => lag.address === address);
      const waitedFor = known.filter(({ messages }) => messages > 0).map(({ group }) => group);
      const silent = needed.filter((group) => known.every((lag) => lag.group !== group));
      return [...waitedFor, ...silent].map((group) => ({ address, group, expected: needed.includes(group) }));
    });
    const gone = missing.flatMap((address) => [...groups].map((group) => ({ address, group })));
    return { behind, moved: [...gone, ...lags.filter(({ messages }) => messages === 0)] };
  }

  async #noteStanding(
    { offsets }: WatchedTransport,
    look: GroupLook,
    behind: Behind,
    stopping: AbortSignal,
  ): Promise<void> {
    const { address, expected: everywhere, group } = behind;
    try {
      // The place first: a group that takes everything in between is at the end, not behind it.
      const ends = await offsets.ends(address);
      const committed = await offsets.committed(group, address);
      if (stopping.aborted) return;
      const writing = this.#write(look, group, { committed, ends, everywhere });
      this.#writing.add(writing);
      await writing.finally(() => this.#writing.delete(writing));
    } catch (error) {
      this.#failed(error, stopping, `${group}/${address}`);
    }
  }

  #write(look: GroupLook, group: string, seen: SeenGroup): Promise<void> {
    return this.#input.database.transaction(async (sql) => {
      const before = await lockGroupNote(sql, look, group);
      if (before === undefined) return;
      const times = { beganMs: look.beganMs, endedMs: before.endedMs };
      await writeGroupNote(sql, look, group, standingPlaces(before, seen, times));
    });
  }

  #failed(error: unknown, stopping: AbortSignal, group?: string): void {
    if (group !== undefined && error instanceof OutboxError && error.code === 'OUTBOX_GROUP_UNFIT') {
      if (this.#unfit.has(group)) return;
      this.#unfit.add(group);
    }
    if (!stopping.aborted) this.#input.report({ type: 'error', during: 'groups', error });
  }
}
