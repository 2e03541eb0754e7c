import { randomUUID } from 'node:crypto';
import type { Partition } from '../../brokers/source.ts';
import type { Sql } from '../../store/database/database.ts';
import { sqlOf, type Transaction } from '../../store/database/transaction.ts';
import {
  clearMark,
  clearMarks,
  clearOldMarks,
  type MarkedPartition,
  markUnlessSuspect,
  type Suspect,
  setMark,
} from '../../store/inbox/marks.ts';
import type { ConsumerContext } from '../consumer-context.ts';

type MarksContext<Tx extends Transaction> = Pick<ConsumerContext<Tx>, 'client' | 'rules' | 'suspects'>;

/**
 * Finds the message that kills its consumer.
 *
 * Messages in progress are marked in the database, one mark per partition and consumer: members that share a partition do not
 * overwrite the marks of each other. A consumer that gets messages of another one's mark processes them one at a time, each
 * with a mark, and so finds the one that kills. A mark left by a frozen consumer or a rebalance only costs some throughput.
 */
export class PoisonMarks<Tx extends Transaction> {
  readonly #context: MarksContext<Tx>;
  readonly #owner = randomUUID();
  /** Of the messages last offered, by partition and id. */
  readonly #suspects = new Map<string, Map<string, Suspect>>();
  /** Partitions with a suspect in progress: at most one. */
  readonly #inHand = new Set<string>();
  #tidied = false;

  constructor(context: MarksContext<Tx>) {
    this.#context = context;
  }

  /** Forgets partitions that are no longer assigned. */
  keepOnly(partitions: readonly Partition[]): void {
    const mine = new Set(partitions.map(nameOf));
    for (const name of this.#suspects.keys()) if (!mine.has(name)) this.#suspects.delete(name);
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
    this.#suspects.delete(name);
    if (ids.length === 0) return true;
    const mark = { owner: this.#owner, ids, kills: 0 };
    const found = await this.#ask(async (sql) => {
      if (!this.#tidied) await clearOldMarks(sql, this.#context.rules.group);
      return markUnlessSuspect(sql, this.#marked(partition), mark);
    });
    this.#tidied = true;
    if (found.length === 0) return true;
    this.#suspects.set(name, new Map(found.map((suspect) => [suspect.id, suspect])));
    return false;
  }

  /**
   * Waits until this consumer processes no other suspect; otherwise a crash could not be attributed to one message.
   *
   * @returns false when this message has killed too often and must not begin
   */
  async beginOne(partition: Partition, id: string): Promise<boolean> {
    const name = nameOf(partition);
    const { alone, kills } = this.#suspects.get(name)?.get(id) ?? { alone: false, kills: 0 };
    if (alone && kills >= this.#context.rules.tries.maxKills) return false;
    await this.#context.suspects.wait();
    this.#inHand.add(name);
    const mark = { owner: this.#owner, ids: [id], kills };
    await this.#ask((sql) => setMark(sql, this.#marked(partition), mark));
    return true;
  }

  /** To be called when a message begun with {@link beginOne} ends. @returns true while a later one is suspect, too */
  endOne(partition: Partition, id: string): boolean {
    const name = nameOf(partition);
    this.#free(name);
    const suspects = this.#suspects.get(name);
    suspects?.delete(id);
    return suspects !== undefined && suspects.size > 0;
  }

  /** To be called when some of the marked messages are left to a later offer, so that the mark raises no suspicion. */
  async leave(partition: Partition): Promise<void> {
    this.#free(nameOf(partition));
    await this.#ask((sql) => clearMark(sql, this.#marked(partition), this.#owner));
  }

  /** To be called when all messages have ended. */
  async clear(): Promise<void> {
    await this.#ask((sql) => clearMarks(sql, this.#context.rules.group, this.#owner));
  }

  #marked({ address, partition }: Partition): MarkedPartition {
    return { group: this.#context.rules.group, address, partition };
  }

  #free(name: string): void {
    if (this.#inHand.delete(name)) this.#context.suspects.free();
  }

  #ask<Result>(question: (sql: Sql) => Promise<Result>): Promise<Result> {
    return this.#context.client.$transaction((tx) => question(sqlOf(tx)));
  }
}

function nameOf({ address, partition }: Partition): string {
  return `${address}/${partition}`;
}
