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
interface Share {
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
  readonly #shares = new Map<string, Share[]>();
  readonly #members: MemoryMember[] = [];
  #looking = false;

  join(member: MemoryMember, logOf: (address: string) => MemoryLog): void {
    const { addresses, fromBeginning } = member.subscription;
    for (const address of addresses) {
      if (!this.#shares.has(address))
        this.#shares.set(address, sharesOf(address, logOf(address), fromBeginning));
    }
    this.#members.push(member);
    this.#share();
  }

  /** Reassigns the partitions of a member; resolves when its current batches have ended. */
  async leave(member: MemoryMember): Promise<void> {
    const index = this.#members.indexOf(member);
    if (index >= 0) {
      this.#members.splice(index, 1);
      this.#share();
    }
    await Promise.all(member.inHand);
  }

  /** Makes all messages of an address open again, like an offset reset of a Kafka group. */
  rewind(address: string): void {
    for (const share of this.#shares.get(address) ?? []) {
      share.giveUp?.abort();
      share.done = 0;
      share.rewound += 1;
    }
    this.look();
  }

  lag(addresses: readonly string[]): readonly Lag[] {
    return addresses.flatMap((address) =>
      (this.#shares.get(address) ?? []).map((share) => ({
        address,
        partition: share.partition,
        messages: rowOf(share).length - share.done,
      })),
    );
  }

  /** Hands over open batches in a new macrotask, so that a consumer that acknowledges nothing does not block the event loop. */
  look(): void {
    if (this.#looking) return;
    this.#looking = true;
    setImmediate(() => {
      this.#looking = false;
      for (const share of [...this.#shares.values()].flat()) this.#offer(share);
    });
  }

  #share(): void {
    for (const [address, shares] of this.#shares) {
      const takers = this.#members.filter(({ subscription }) => subscription.addresses.includes(address));
      for (const share of shares) {
        const owner = takers[share.partition % Math.max(1, takers.length)];
        if (owner === share.owner) continue;
        const before = share.owner;
        share.owner = owner;
        share.giveUp?.abort();
        // A member that leaves may finish its current batch.
        if (before !== undefined && this.#members.includes(before)) share.lost?.abort();
      }
    }
    for (const member of this.#members) member.subscription.assigned(this.#partitionsOf(member));
    this.look();
  }

  #partitionsOf(member: MemoryMember): readonly Partition[] {
    const mine = [...this.#shares.values()].flat().filter(({ owner }) => owner === member);
    return mine.map(({ address, partition }) => ({ address, partition }));
  }

  #offer(share: Share): void {
    const { owner } = share;
    if (owner === undefined || share.giveUp !== undefined || share.resting !== undefined) return;
    if (owner.inHand.size >= owner.subscription.concurrency) return;
    const messages = rowOf(share).slice(share.done, share.done + Math.max(1, owner.subscription.batchSize));
    if (messages.length === 0) return;
    const giveUp = new AbortController();
    const lost = new AbortController();
    share.giveUp = giveUp;
    share.lost = lost;
    const ends = { signal: giveUp.signal, lost: lost.signal };
    const ended = this.#batchChannel(share, owner, messages, ends).finally(() => {
      share.giveUp = undefined;
      share.lost = undefined;
      owner.inHand.delete(ended);
      this.look();
    });
    owner.inHand.add(ended);
  }

  async #batchChannel(
    share: Share,
    owner: MemoryMember,
    messages: readonly IncomingMessage[],
    { lost, signal }: Pick<IncomingBatch, 'lost' | 'signal'>,
  ): Promise<void> {
    const { address, partition, rewound } = share;
    const batch = new OfferedBatch({ address, partition, messages, signal, lost });
    await owner.subscription.handle(batch);
    const last = batch.done().at(-1);
    if (last !== undefined && share.rewound === rewound) share.done = Number(last.offset) + 1;
    if (batch.restMs === undefined) return;
    share.resting = setTimeout(() => {
      share.resting = undefined;
      this.look();
    }, batch.restMs);
    // A resting partition does not keep the process alive.
    share.resting.unref();
  }
}

function sharesOf(address: string, log: MemoryLog, fromBeginning: boolean): Share[] {
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

function rowOf({ log, partition }: Share): readonly IncomingMessage[] {
  return log.partitions[partition] ?? [];
}
