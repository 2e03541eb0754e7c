import { OutboxError } from '../../core/errors.ts';
import type { IncomingBatch } from '../../sources/source.ts';
import type { Sql } from '../../store/database/database.ts';
import { countQueue } from '../../store/inbox/key-queue.ts';
import type { ConsumerReport } from '../consumer-event.ts';
import type { Arrived } from '../intake/arrived.ts';
import type { FailingPartitions } from '../intake/failing-partitions.ts';

export interface KeyQueuesOptions {
  readonly group: string;
  /** Messages that may be queued behind one key. */
  readonly most: number;
  readonly report: ConsumerReport;
  readonly ask: <Result>(question: (sql: Sql) => Promise<Result>) => Promise<Result>;
}

/** A parked key, as far as this consumer knows its queue. */
interface Queue {
  readonly topic: string;
  readonly key: string;
  /** So many more may be queued before it is counted again. */
  room: number;
}

/** Keys that are remembered; beyond them it is forgotten which are long, and found out anew. */
const maxKeys = 10_000;
const pauseMs = 1_000;

/**
 * Bounds the queues of parked keys: whose queue is full gets no further message, and its partition waits until some have
 * been handled.
 *
 * A queue is counted when half of what it had room for was added, so that counting costs next to nothing. What is in hand
 * when it becomes full is still added.
 */
export class KeyQueues {
  readonly #options: KeyQueuesOptions;
  readonly #queues = new Map<string, Queue>();

  constructor(options: KeyQueuesOptions) {
    this.#options = options;
  }

  /** Tells that a message was queued behind its key. */
  queued<Tx>({ key, topic }: Arrived<Tx>): void {
    if (key === null) return;
    const name = nameOf(topic, key);
    const queue = this.#queues.get(name);
    if (queue !== undefined) {
      queue.room -= 1;
      return;
    }
    if (this.#queues.size >= maxKeys) this.#queues.clear();
    this.#queues.set(name, { topic, key, room: Math.ceil(this.#options.most / 10) - 1 });
  }

  /** @returns those before the first message that finds its queue full */
  async free<Tx>(arrived: readonly Arrived<Tx>[]): Promise<readonly Arrived<Tx>[]> {
    // Nearly always there is no queue, and of a long one nearly always room is left.
    if (this.#queues.size === 0) return arrived;
    const open = new Set<string>();
    for (const [n, { key, topic }] of arrived.entries()) {
      if (key === null) continue;
      const name = nameOf(topic, key);
      const queue = this.#queues.get(name);
      if (queue === undefined || queue.room > 0 || open.has(name)) continue;
      if (!(await this.#hasRoom(name, queue))) return arrived.slice(0, n);
      open.add(name);
    }
    return arrived;
  }

  async #hasRoom(name: string, queue: Queue): Promise<boolean> {
    const { ask, group, most } = this.#options;
    const count = await ask((sql) => countQueue(sql, group, queue.topic, queue.key, most));
    queue.room = Math.ceil((most - count) / 2);
    if (count === 0) this.#queues.delete(name);
    return count < most;
  }

  /** Has the partition of a message rest whose queue is full; others go on. */
  pause<Tx>(batch: IncomingBatch, message: Arrived<Tx>, failing: FailingPartitions): void {
    const { most, report } = this.#options;
    const { incoming, topic } = message;
    const { address, partition, offset } = incoming;
    const position = { address, partition, offset };
    const error = new OutboxError(
      'OUTBOX_QUEUE_FULL',
      `A parked key of the topic "${topic}" has ${most} messages behind it: its partition waits.`,
      { details: { topic, maxQueued: most } },
    );
    failing.failed(position, topic, error);
    const attempt = failing.attempts(position);
    report({ type: 'partition-paused', ...position, attempt, error, retryInMs: pauseMs });
    batch.reject(incoming, pauseMs);
  }
}

function nameOf(topic: string, key: string): string {
  return `${topic}\0${key}`;
}
