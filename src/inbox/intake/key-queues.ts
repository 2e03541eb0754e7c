import type { IncomingBatch } from '../../brokers/source.ts';
import { OutboxError } from '../../core/errors.ts';
import { remember } from '../../core/remember.ts';
import type { Transaction } from '../../store/database/transaction.ts';
import { countQueue } from '../../store/inbox/key-queue.ts';
import type { ConsumerContext } from '../consumer-context.ts';
import type { Arrived } from '../handling/arrived.ts';
import type { FailingPartitions } from './failing-partitions.ts';

type QueuesContext = Pick<ConsumerContext<Transaction>, 'ask' | 'rules'>;

/** A parked key, as far as this consumer knows its queue. */
interface Queue {
  readonly topic: string;
  readonly key: string;
  /** How many more may be queued before the queue is counted again. */
  room: number;
}

/** Keys that are remembered; beyond them the counts of those that began to queue first are made again. */
const maxKeys = 10_000;
const pauseMs = 1_000;

/**
 * Limits the queues of parked keys: a full queue takes no further message, and the partition waits until some have been
 * handled.
 *
 * A queue is counted each time half of its room is used up, so that counting costs next to nothing. Messages that are in
 * hand when it becomes full are still added.
 */
export class KeyQueues {
  readonly #context: QueuesContext;
  readonly #queues = new Map<string, Queue>();

  constructor(context: QueuesContext) {
    this.#context = context;
  }

  /** Notes that a message was queued behind its key. */
  queued<Tx>({ key, topic }: Arrived<Tx>): void {
    if (key === null) return;
    const name = nameOf(topic, key);
    const queue = this.#queues.get(name);
    if (queue !== undefined) {
      queue.room -= 1;
      return;
    }
    const room = Math.ceil(this.#context.rules.maxQueued / 10) - 1;
    remember(this.#queues, name, { topic, key, room }, maxKeys);
  }

  /** @returns the messages before the first one whose queue is full */
  async free<Tx>(arrived: readonly Arrived<Tx>[]): Promise<readonly Arrived<Tx>[]> {
    // Usually there is no queue, and usually a long queue still has room.
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
    const {
      ask,
      rules: { group, maxQueued: most },
    } = this.#context;
    const count = await ask((sql) => countQueue(sql, group, queue.topic, queue.key, most));
    queue.room = Math.ceil((most - count) / 2);
    if (count === 0) this.#queues.delete(name);
    return count < most;
  }

  /** Pauses the partition of a message whose queue is full; others go on. */
  pause<Tx>(batch: IncomingBatch, message: Arrived<Tx>, failing: FailingPartitions): void {
    const { maxQueued: most } = this.#context.rules;
    const { incoming, topic } = message;
    const error = new OutboxError(
      'OUTBOX_QUEUE_FULL',
      `A parked key of the topic "${topic}" has ${most} messages behind it: its partition waits.`,
      { details: { topic, maxQueued: most } },
    );
    batch.reject(incoming, failing.pause(incoming, topic, error, pauseMs));
  }
}

function nameOf(topic: string, key: string): string {
  return `${topic}\0${key}`;
}
