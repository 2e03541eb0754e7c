import type { Rewinding, RewoundPartition } from '../../core/rewinding.ts';
import { startTimer } from '../../core/timer.ts';
import { OfferedBatch } from '../offered-batch.ts';
import type { IncomingBatch, IncomingMessage, Lag, Partition, Subscription } from '../source.ts';
import type { MemoryLog } from './memory-log.ts';

/** One running subscription of a group. */
export class MemoryMember {
  readonly subscription: Subscription;
  /** The batches that are being handled. */
  readonly inHand = new Set<Promise<void>>();

  constructor(subscription: Subscription) {
    this.subscription = subscription;
  }
}

/** A partition as a group sees it. */
interface GroupPartition {
  readonly log: MemoryLog;
  readonly address: string;
  readonly partition: number;
  /** How many of its messages are acknowledged, without a gap from the first one on. */
  done: number;
  /** How often it was rewound. */
  rewound: number;
  owner: MemoryMember | undefined;
  /** Gives up the batch that is being handled; `undefined` if there is none. */
  giveUp: AbortController | undefined;
  /** Fires when another member owns the partition while its batch is being handled. */
  lost: AbortController | undefined;
  resting: NodeJS.Timeout | undefined;
}

/** Assigns partitions to the members of one group, stores their offsets, and hands over open messages. */
export class MemoryGroup {
  readonly #partitions = new Map<string, GroupPartition[]>();
  readonly #members: MemoryMember[] = [];
  #looking = false;

  join(member: MemoryMember, logOf: (address: string) => MemoryLog): void {
    const { addresses, fromBeginning } = member.subscription;
    for (const address of addresses) {
      if (!this.#partitions.has(address))
        this.#partitions.set(address, partitionsFrom(address, logOf(address), fromBeginning));
    }
    this.#members.push(member);
    this.#assign();
  }

  /** Reassigns the partitions of a member; resolves when its current batches have ended. */
  async leave(member: MemoryMember): Promise<void> {
    const index = this.#members.indexOf(member);
    if (index >= 0) {
      this.#members.splice(index, 1);
      this.#assign();
    }
    await Promise.all(member.inHand);
  }

  /** Makes all messages of an address open again, like an offset reset of a Kafka group. */
  rewind(address: string): void {
    for (const one of this.#partitions.get(address) ?? []) {
      one.giveUp?.abort();
      one.done = 0;
      one.rewound += 1;
    }
    this.look();
  }

  /** Sets its partitions of an address back to a time. */
  rewindTo({ address, to, dryRun }: Rewinding): readonly RewoundPartition[] {
    return (this.#partitions.get(address) ?? []).map((one) => {
      const found = rowOf(one).findIndex(({ timestamp }) => timestamp.getTime() >= to.getTime());
      const before = one.done;
      const after = found < 0 ? before : Math.min(found, before);
      if (!dryRun) one.done = after;
      return { partition: one.partition, before: String(before), after: String(after) };
    });
  }

  get members(): number {
    return this.#members.length;
  }

  lag(addresses: readonly string[]): readonly Lag[] {
    return addresses.flatMap((address) =>
      (this.#partitions.get(address) ?? []).map((one) => ({
        address,
        partition: one.partition,
        messages: rowOf(one).length - one.done,
      })),
    );
  }

  /** Hands over open batches in a new macrotask, so that a consumer that acknowledges nothing does not block the event loop. */
  look(): void {
    if (this.#looking) return;
    this.#looking = true;
    setImmediate(() => {
      this.#looking = false;
      for (const one of [...this.#partitions.values()].flat()) this.#offer(one);
    });
  }

  #assign(): void {
    for (const [address, partitions] of this.#partitions) {
      const takers = this.#members.filter(({ subscription }) => subscription.addresses.includes(address));
      for (const one of partitions) {
        const owner = takers[one.partition % Math.max(1, takers.length)];
        if (owner === one.owner) continue;
        const before = one.owner;
        one.owner = owner;
        one.giveUp?.abort();
        // A member that leaves may finish its current batch.
        if (before !== undefined && this.#members.includes(before)) one.lost?.abort();
      }
    }
    for (const member of this.#members) member.subscription.assigned(this.#partitionsOf(member));
    this.look();
  }

  #partitionsOf(member: MemoryMember): readonly Partition[] {
    const mine = [...this.#partitions.values()].flat().filter(({ owner }) => owner === member);
    return mine.map(({ address, partition }) => ({ address, partition }));
  }

  #offer(one: GroupPartition): void {
    const { owner } = one;
    if (owner === undefined || one.giveUp !== undefined || one.resting !== undefined) return;
    if (owner.inHand.size >= owner.subscription.concurrency) return;
    const messages = rowOf(one).slice(one.done, one.done + Math.max(1, owner.subscription.batchSize));
    if (messages.length === 0) return;
    const giveUp = new AbortController();
    const lost = new AbortController();
    one.giveUp = giveUp;
    one.lost = lost;
    const ends = { signal: giveUp.signal, lost: lost.signal };
    const ended = this.#batchChannel(one, owner, messages, ends).finally(() => {
      one.giveUp = undefined;
      one.lost = undefined;
      owner.inHand.delete(ended);
      this.look();
    });
    owner.inHand.add(ended);
  }

  async #batchChannel(
    one: GroupPartition,
    owner: MemoryMember,
    messages: readonly IncomingMessage[],
    { lost, signal }: Pick<IncomingBatch, 'lost' | 'signal'>,
  ): Promise<void> {
    const { address, partition, rewound } = one;
    const batch = new OfferedBatch({ address, partition, messages, signal, lost });
    await owner.subscription.handle(batch);
    const last = batch.done().at(-1);
    if (last !== undefined && one.rewound === rewound) one.done = Number(last.offset) + 1;
    if (batch.restMs === undefined) return;
    one.resting = startTimer(() => {
      one.resting = undefined;
      this.look();
    }, batch.restMs);
    // A resting partition does not keep the process alive.
    one.resting.unref();
  }
}

function partitionsFrom(address: string, log: MemoryLog, fromBeginning: boolean): GroupPartition[] {
  return log.partitions.map((row, partition) => ({
    log,
    address,
    partition,
    done: fromBeginning ? 0 : row.length,
    rewound: 0,
    owner: undefined,
    giveUp: undefined,
    lost: undefined,
    resting: undefined,
  }));
}

function rowOf({ log, partition }: GroupPartition): readonly IncomingMessage[] {
  return log.partitions[partition] ?? [];
}
