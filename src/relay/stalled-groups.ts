import { passCrashPoint } from '../core/crash-point.ts';
import { OutboxError } from '../core/errors.ts';
import { keepLooking } from '../core/keep-looking.ts';
import type { Database, Sql } from '../store/database/database.ts';
import {
  beginGroupLooks,
  forgetMovedGroups,
  type GroupAt,
  type GroupLook,
  lockGroupNote,
  noteBehind,
  writeGroupNote,
} from '../store/installation/standing-groups.ts';
import { HookRest } from './hook-rest.ts';
import { judgeStanding, type SeenGroup } from './judge-standing.ts';
import { lendTo } from './lend-transaction.ts';
import type { OnStalled, StalledGroup } from './on-stalled.ts';
import type { OffsetReader } from './passed-times.ts';
import type { RelayReport } from './report.ts';

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
  /** An address, the topic that is sent there, and the groups that must read it even if they have never committed anything. */
  readonly addresses: ReadonlyMap<string, { readonly topic: string; readonly expected: readonly string[] }>;
}

export interface StalledGroupsInput {
  readonly database: Database;
  readonly transports: readonly WatchedTransport[];
  /** Names of the groups that are watched wherever they have committed, read at each look. */
  readonly groups: () => Promise<readonly string[]>;
  readonly afterMs: number;
  readonly onStalled: OnStalled | undefined;
  readonly report: RelayReport;
}

interface Behind extends GroupAt {
  readonly topic: string;
  readonly expected: boolean;
  readonly waiting: number | null;
}

/** Between two looks: a quarter of the time after which a group is stalled, within these bounds. */
const lookEvery = { leastMs: 250, mostMs: 60_000 };

/**
 * Detects consumer groups that make no progress, and reports each stall once.
 *
 * One relay looks at an address for all; which one is decided anew for each look. Where a group stands is noted in a row of the address,
 * so that a stall goes on while no relay runs, and is one stall for relays with different topics. The hook is called in the transaction
 * that notes it.
 */
export class StalledGroups {
  readonly #input: StalledGroupsInput;
  readonly #everyMs: number;
  readonly #stopping = new AbortController();
  readonly #writing = new Set<Promise<unknown>>();
  /** Groups whose progress their broker cannot know, as it has said: reported once. */
  readonly #unfit = new Set<string>();
  readonly #rest = new HookRest();
  #running: Promise<unknown> | undefined;

  constructor(input: StalledGroupsInput) {
    this.#input = input;
    this.#everyMs = Math.min(Math.max(input.afterMs / 4, lookEvery.leastMs), lookEvery.mostMs);
  }

  start(): void {
    this.#running ??= Promise.all(
      // Each on its own: a broker that does not answer holds up no other.
      this.#input.transports.map((transport) =>
        keepLooking(() => this.#look(transport), this.#everyMs, this.#stopping.signal),
      ),
    );
  }

  /** Waits for the call under way, but not for the answer of a broker. Never rejects. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await Promise.allSettled(this.#writing);
  }

  async #look(transport: WatchedTransport): Promise<void> {
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
      if (this.#stopping.signal.aborted) return;
      await forgetMovedGroups(database, looks, moved);
      const lookAt = new Map(looks.map((look) => [look.address, look]));
      for (const group of behind) {
        const look = lookAt.get(group.address);
        if (look === undefined) continue;
        await noteBehind(database, look, group.group);
        await this.#judge(transport, look, group);
      }
    } catch (error) {
      this.#failed(error);
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
      const { topic = address, expected: needed = [] } = addresses.get(address) ?? {};
      const known = lags.filter((lag) => lag.address === address);
      const silent = needed.filter((group) => known.every((lag) => lag.group !== group));
      const at = { topic, address };
      return [
        ...known
          .filter(({ messages }) => messages > 0)
          .map(({ group, messages: waiting }) => ({
            ...at,
            group,
            waiting,
            expected: needed.includes(group),
          })),
        ...silent.map((group) => ({ ...at, group, waiting: null, expected: true })),
      ];
    });
    const gone = missing.flatMap((address) => [...groups].map((group) => ({ address, group })));
    return { behind, moved: [...gone, ...lags.filter(({ messages }) => messages === 0)] };
  }

  async #judge({ offsets }: WatchedTransport, look: GroupLook, behind: Behind): Promise<void> {
    const { address, expected: everywhere, group } = behind;
    try {
      // The place first: a group that takes everything in between is at the end, not behind it.
      const ends = await offsets.ends(address);
      const committed = await offsets.committed(group, address);
      if (this.#stopping.signal.aborted) return;
      const writing = this.#input.database.transaction((sql) =>
        this.#note(sql, look, behind, { committed, ends, everywhere }),
      );
      this.#writing.add(writing);
      const stalled = await writing.finally(() => this.#writing.delete(writing));
      if (stalled !== undefined) this.#input.report({ type: 'group-stalled', ...stalled });
    } catch (error) {
      this.#failed(error, `${group}/${address}`);
    }
  }

  async #note(sql: Sql, look: GroupLook, behind: Behind, seen: SeenGroup): Promise<StalledGroup | undefined> {
    const { afterMs, onStalled } = this.#input;
    const before = await lockGroupNote(sql, look, behind.group);
    if (before === undefined) return undefined;
    const times = { beganMs: look.beganMs, endedMs: before.endedMs };
    const judged = judgeStanding(before, seen, times, afterMs);
    // What is not noted is judged again by a later look.
    if (judged.stalled !== undefined && onStalled !== undefined && this.#rest.leftMs > 0) return undefined;
    await writeGroupNote(sql, look, behind.group, judged);
    if (judged.stalled === undefined) return undefined;
    const { topic, group, waiting } = behind;
    const { partitions, sinceMs } = judged.stalled;
    const stalled: StalledGroup = { topic, group, since: new Date(sinceMs), waiting, partitions };
    if (onStalled !== undefined) await this.#tell(onStalled, stalled, sql);
    passCrashPoint('relay:stall-noted');
    return stalled;
  }

  async #tell(onStalled: OnStalled, stalled: StalledGroup, sql: Sql): Promise<void> {
    try {
      await lendTo('onStalled', (tx) => onStalled(tx, stalled), sql);
    } catch (error) {
      this.#rest.failed();
      throw error;
    }
    this.#rest.succeeded();
  }

  #failed(error: unknown, group?: string): void {
    if (group !== undefined && error instanceof OutboxError && error.code === 'OUTBOX_GROUP_UNFIT') {
      if (this.#unfit.has(group)) return;
      this.#unfit.add(group);
    }
    if (!this.#stopping.signal.aborted) this.#input.report({ type: 'error', during: 'stalls', error });
  }
}
