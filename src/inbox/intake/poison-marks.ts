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
  /** A message fails for good when its consumer died this often while processing it. */
  readonly maxKills: number;
  /** False if messages of different keys may overtake each other. */
  readonly inOrder: boolean;
  /** Shared by the whole consumer: it processes one suspect at a time. */
  readonly suspects: OneSuspect;
}

/** A marked message may arrive after others, or not at all. */
const fewestSuspects = 100;

/** One of the next messages of a partition may have killed a consumer. */
interface Suspicion {
  /** The suspicion ends with this message, or after `left` messages. */
  readonly lastId: string;
  left: number;
  /** Set when the message was processed alone. */
  readonly single: { readonly id: string; readonly kills: number } | undefined;
}

/**
 * Finds the message that kills its consumer.
 *
 * Messages in progress are marked in the database, one mark per partition. A consumer that finds another consumer's
 * unfinished mark processes those messages one at a time, each with a mark, and so finds the one that kills. A mark
 * left by a frozen consumer or a rebalance only costs some throughput.
 */
export class PoisonMarks<Tx extends Transaction> {
  readonly #options: PoisonMarksOptions<Tx>;
  readonly #owner = randomUUID();
  /** Per partition whose mark was read since it was assigned. */
  readonly #suspicions = new Map<string, Suspicion | undefined>();
  /** Partitions with a suspect in progress: at most one. */
  readonly #inHand = new Set<string>();

  constructor(options: PoisonMarksOptions<Tx>) {
    this.#options = options;
  }

  /**
   * Forgets partitions that are no longer assigned, and assigned ones without a suspicion, so that their mark is read
   * again: while this consumer was away, another one may have owned them and died.
   */
  keepOnly(partitions: readonly Partition[]): void {
    const mine = new Set(partitions.map(nameOf));
    for (const [name, suspicion] of this.#suspicions)
      if (!mine.has(name) || suspicion === undefined) this.#suspicions.delete(name);
    for (const name of this.#inHand) if (!mine.has(name)) this.#free(name);
  }

  /**
   * To be called before messages of a partition begin.
   *
   * @returns true when they are marked; false when they must begin one at a time, with {@link beginOne}
   */
  async begin(partition: Partition, ids: readonly string[]): Promise<boolean> {
    const name = nameOf(partition);
    // Any message that began alone before has ended.
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
   * Waits until this consumer processes no other suspect; otherwise a crash could not be attributed to one message.
   *
   * @returns false when this message has killed too often and must not begin
   */
  async beginOne(partition: Partition, id: string): Promise<boolean> {
    const name = nameOf(partition);
    const single = this.#suspicions.get(name)?.single;
    // After a crash with several messages in progress, this one may be the cause.
    const kills = single === undefined || single.id === id ? (single?.kills ?? 1) : 0;
    if (single?.id === id && kills >= this.#options.maxKills) return false;
    await this.#options.suspects.wait();
    this.#inHand.add(name);
    const marked = { group: this.#options.group, address: partition.address, partition: partition.partition };
    await this.#ask((sql) => setMark(sql, marked, { owner: this.#owner, size: 1, lastId: id, kills }));
    return true;
  }

  /** To be called when a message begun with {@link beginOne} ends. @returns true while the next one is suspect, too */
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

  /** To be called when some of the marked messages are left to a later offer, so that the mark raises no suspicion. */
  async leave(partition: Partition): Promise<void> {
    this.#free(nameOf(partition));
    const { group } = this.#options;
    const marked = { group, address: partition.address, partition: partition.partition };
    await this.#ask((sql) => clearMark(sql, marked, this.#owner));
  }

  /** To be called when all messages have ended. */
  async clear(): Promise<void> {
    await this.#ask((sql) => clearMarks(sql, this.#options.group, this.#owner));
  }

  #free(name: string): void {
    if (this.#inHand.delete(name)) this.#options.suspects.free();
  }

  async #suspicionOf(sql: Sql, mark: Mark | undefined): Promise<Suspicion | undefined> {
    if (mark === undefined || mark.owner === this.#owner) return undefined;
    const { lastId, size, kills } = mark;
    // If the last message is processed, so are those before it.
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
