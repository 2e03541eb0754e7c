import { randomUUID } from 'node:crypto';
import type { Partition } from '../../sources/source.ts';
import type { Sql } from '../../store/database/database.ts';
import { sqlOf, type Transaction } from '../../store/database/transaction.ts';
import { clearMark, clearMarks, type Mark, readMark, setMark } from '../../store/inbox/marks.ts';
import { readProcessed } from '../../store/inbox/processed.ts';
import type { TransactionClient } from '../transaction-client.ts';
import type { OneSuspect } from './one-suspect.ts';

export interface PoisonMarksOptions<Tx extends Transaction> {
  readonly client: TransactionClient<Tx>;
  readonly group: string;
  /** A message fails for good when it was in hand this often while its consumer died. */
  readonly maxKills: number;
  /** False where messages of different keys overtake each other. */
  readonly inOrder: boolean;
  /** Of the whole consumer: one suspect is in hand at a time. */
  readonly suspects: OneSuspect;
}

/** A marked message may come behind others, and may not come at all. */
const fewestSuspects = 100;

/** One of the next messages of a partition has ended a consumer, perhaps. */
interface Suspicion {
  /** With this message the suspicion ends, or after so many. */
  readonly lastId: string;
  left: number;
  /** Known when it was in hand alone. */
  readonly single: { readonly id: string; readonly kills: number } | undefined;
}

/**
 * Finds the message that kills its consumer.
 *
 * What is in hand is marked in the database, one mark per partition. A consumer that finds the mark of another one
 * unfinished takes those messages one by one, each with a mark, and so learns which it is. A mark that is left by a
 * frozen consumer or a rebalance costs some speed, nothing else.
 */
export class PoisonMarks<Tx extends Transaction> {
  readonly #options: PoisonMarksOptions<Tx>;
  readonly #owner = randomUUID();
  /** Of each partition whose mark was read since it was assigned. */
  readonly #suspicions = new Map<string, Suspicion | undefined>();
  /** Partitions of which a suspect is in hand: one at most. */
  readonly #inHand = new Set<string>();

  constructor(options: PoisonMarksOptions<Tx>) {
    this.#options = options;
  }

  /**
   * Forgets partitions that have become others', and of its own whose mark there was: one that was away for a moment, or slow
   * to join, may have missed that another owner had them, and died.
   */
  keepOnly(partitions: readonly Partition[]): void {
    const mine = new Set(partitions.map(nameOf));
    for (const [name, suspicion] of this.#suspicions)
      if (!mine.has(name) || suspicion === undefined) this.#suspicions.delete(name);
    for (const name of this.#inHand) if (!mine.has(name)) this.#free(name);
  }

  /**
   * To be called before messages of a partition are begun.
   *
   * @returns true when they are marked; false when they must be begun singly, by {@link beginOne}
   */
  async begin(partition: Partition, ids: readonly string[]): Promise<boolean> {
    const name = nameOf(partition);
    // What was begun singly before has ended, in whatever way.
    this.#free(name);
    const marked = { group: this.#options.group, address: partition.address, partition: partition.partition };
    return this.#ask(async (sql) => {
      if (!this.#suspicions.has(name)) {
        const mark = await readMark(sql, marked);
        this.#suspicions.set(name, await this.#suspicionOf(sql, mark));
      }
      if (this.#suspicions.get(name) !== undefined) return false;
      const lastId = ids.at(-1);
      if (lastId !== undefined)
        await setMark(sql, marked, { owner: this.#owner, size: ids.length, lastId, kills: 0 });
      return true;
    });
  }

  /**
   * Waits until no other suspect is in hand of this consumer: beside one that kills, it would be taken for another.
   *
   * @returns false when this message has killed too often and must not be begun
   */
  async beginOne(partition: Partition, id: string): Promise<boolean> {
    const name = nameOf(partition);
    const single = this.#suspicions.get(name)?.single;
    // Whoever has died with many in hand may have died of this one.
    const kills = single === undefined || single.id === id ? (single?.kills ?? 1) : 0;
    if (single?.id === id && kills >= this.#options.maxKills) return false;
    await this.#options.suspects.wait();
    this.#inHand.add(name);
    const marked = { group: this.#options.group, address: partition.address, partition: partition.partition };
    await this.#ask((sql) => setMark(sql, marked, { owner: this.#owner, size: 1, lastId: id, kills }));
    return true;
  }

  /** Tells that a message that was begun singly has ended. @returns true while the next one is suspect, too */
  endOne(partition: Partition, id: string): boolean {
    const name = nameOf(partition);
    this.#free(name);
    const suspicion = this.#suspicions.get(name);
    if (suspicion === undefined) return false;
    suspicion.left -= 1;
    if (suspicion.left > 0 && suspicion.lastId !== id) return true;
    this.#suspicions.set(name, undefined);
    return false;
  }

  /** To be called when a part of what was begun is left to a later offer: nobody has died of it. */
  async leave(partition: Partition): Promise<void> {
    this.#free(nameOf(partition));
    const { group } = this.#options;
    const marked = { group, address: partition.address, partition: partition.partition };
    await this.#ask((sql) => clearMark(sql, marked, this.#owner));
  }

  /** To be called when everything in hand has ended. */
  async clear(): Promise<void> {
    await this.#ask((sql) => clearMarks(sql, this.#options.group, this.#owner));
  }

  #free(name: string): void {
    if (this.#inHand.delete(name)) this.#options.suspects.free();
  }

  async #suspicionOf(sql: Sql, mark: Mark | undefined): Promise<Suspicion | undefined> {
    if (mark === undefined || mark.owner === this.#owner) return undefined;
    const { lastId, size, kills } = mark;
    // Where the last of them is done, so are those before it.
    if (this.#options.inOrder || size === 1) {
      const done = await readProcessed(sql, this.#options.group, [lastId]);
      if (done.size > 0) return undefined;
    }
    return {
      lastId,
      left: Math.max(size, fewestSuspects),
      single: size === 1 ? { id: lastId, kills: kills + 1 } : undefined,
    };
  }

  #ask<Result>(question: (sql: Sql) => Promise<Result>): Promise<Result> {
    return this.#options.client.$transaction((tx) => question(sqlOf(tx)));
  }
}

function nameOf({ address, partition }: Partition): string {
  return `${address}/${partition}`;
}
