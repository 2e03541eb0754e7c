import { randomUUID } from 'node:crypto';
import { pauseAfter } from '../../../core/pause-after.ts';
import { rest } from '../../../core/rest.ts';
import { startTimer } from '../../../core/timer.ts';
import type { Partition, Subscription } from '../../source.ts';
import { RefusedRequest } from '../client/failure.ts';
import type { Proxies } from '../client/proxies.ts';
import type { RocketmqRoute, RoutedBroker } from '../client/route.ts';
import { groupUnfit } from '../client/unavailable.ts';
import { leasedMessage } from './leased-message.ts';
import { LeasedPartition } from './leased-partition.ts';
import { Leases } from './leases.ts';
import { largestPop, pop } from './pop.ts';

/** Some releases report it by a status, others only by the text of an error. */
const noGroup = /^CONSUMER_GROUP_NOT_FOUND|subscription group \[.*does not exist/;
/** About as many bytes are held at once; a single larger message is received nevertheless. */
const mostBytes = 64 * 1_024 * 1_024;
const retryMs = { first: 250, most: 5_000 } as const;

/** What one member receives, and from where. */
export interface MemberInput {
  readonly proxies: Proxies;
  readonly subscription: Subscription;
  readonly routes: ReadonlyMap<string, RocketmqRoute>;
  /** Whether the broker delivers each queue in order to the group. */
  readonly ordered: boolean;
}

/** Receives messages as one member of a group, hands them over, and acknowledges them, until it is stopped. */
export class GroupMember {
  readonly #input: MemberInput;
  readonly #leases: Leases;
  readonly #partitions = new Map<string, LeasedPartition>();
  readonly #stopping = new AbortController();
  readonly #handing = new Set<Promise<void>>();
  readonly #polls: readonly Promise<void>[];
  readonly #renewal: NodeJS.Timeout;
  #wake: NodeJS.Timeout | undefined;
  #failingPolls = 0;
  /** Wakes the polls that wait until fewer messages are held. */
  readonly #crowded = new Set<() => void>();

  constructor(input: MemberInput) {
    this.#input = input;
    const { proxies, routes, subscription } = input;
    this.#leases = new Leases(proxies, subscription.group);
    this.#renewal = setInterval(() => void this.#renew(), proxies.connection.invisibleMs / 3);
    this.#tellAssigned();
    this.#polls = [...routes].flatMap(([address, route]) =>
      route.brokers.map((broker) => this.#poll(address, broker, route)),
    );
  }

  /** Waits for the current batches, acknowledges what is done, and returns the other messages to the broker. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#makeRoom();
    clearTimeout(this.#wake);
    await Promise.all([...this.#polls, ...this.#handing]);
    clearInterval(this.#renewal);
    await this.#leases.release([...this.#partitions.values()].flatMap((one) => one.drain()));
  }

  async #poll(address: string, broker: RoutedBroker, route: RocketmqRoute): Promise<void> {
    const { proxies, subscription } = this.#input;
    const { group } = subscription;
    const { signal } = this.#stopping;
    let attemptId = randomUUID();
    let failures = 0;
    while (!signal.aborted) {
      const count = await this.#roomLeft();
      if (count === 0) return;
      try {
        const askedAtMs = performance.now();
        const request = { topic: address, group, broker, count, attemptId };
        const messages = await pop(proxies, request, signal);
        attemptId = randomUUID();
        if (failures > 0) this.#answersAgain();
        failures = 0;
        const untilMs = askedAtMs + proxies.connection.invisibleMs;
        for (const message of messages) {
          const partition = numberIn(route, broker, message.getSystemProperties()?.getQueueId() ?? 0);
          const lease = { address, endpoint: broker.endpoint, partition, untilMs };
          this.#partitionAt({ address, partition }).add([leasedMessage(message, lease)]);
        }
        if (messages.length > 0) this.#look();
      } catch (error) {
        if (signal.aborted) return;
        if (failures === 0) this.#failingPolls += 1;
        failures += 1;
        const waitMs = pauseAfter(failures, retryMs);
        subscription.disconnected(this.#told(error), waitMs);
        await rest(waitMs, signal);
      }
    }
  }

  #answersAgain(): void {
    this.#failingPolls -= 1;
    if (this.#failingPolls === 0) this.#tellAssigned();
  }

  #tellAssigned(): void {
    const { routes, subscription } = this.#input;
    subscription.assigned([...routes].flatMap(([address, route]) => partitionsOf(address, route)));
  }

  /** Replaces the error for a missing group by `OUTBOX_GROUP_UNFIT`. */
  #told(error: unknown): unknown {
    const { proxies, subscription } = this.#input;
    if (!(error instanceof RefusedRequest) || !noGroup.test(error.message)) return error;
    return groupUnfit(proxies.connection, `there is no consumer group ${subscription.group}.`);
  }

  /**
   * Waits while enough messages for all handlers, or bytes, are held: more would be missing at other members.
   *
   * @returns how many to ask for, by the size of those that are held; 0 at a stop
   */
  async #roomLeft(): Promise<number> {
    const { batchSize, concurrency } = this.#input.subscription;
    const most = Math.max(batchSize, largestPop) * concurrency;
    for (;;) {
      const all = [...this.#partitions.values()].flatMap((one) => one.all());
      const bytes = all.reduce((sum, message) => sum + message.bytes, 0);
      if (this.#stopping.signal.aborted) return 0;
      if (all.length < most && bytes < mostBytes) {
        const fitting = Math.ceil(((mostBytes - bytes) / Math.max(1, bytes)) * all.length);
        return all.length === 0 ? largestPop : Math.min(fitting, largestPop);
      }
      await new Promise<void>((resolve) => {
        this.#crowded.add(resolve);
      });
    }
  }

  #makeRoom(): void {
    for (const look of this.#crowded) look();
    this.#crowded.clear();
  }

  #partitionAt({ address, partition }: Partition): LeasedPartition {
    const name = `${address}/${partition}`;
    const known =
      this.#partitions.get(name) ?? new LeasedPartition({ address, partition }, this.#input.ordered);
    this.#partitions.set(name, known);
    return known;
  }

  /** Hands over messages that are due, and sets a timer for the next one. */
  #look(): void {
    clearTimeout(this.#wake);
    if (this.#stopping.signal.aborted) return;
    const nowMs = performance.now();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const one of this.#partitions.values()) {
      const atMs = one.nextAtMs();
      if (one.busy || atMs === undefined) continue;
      if (atMs > nowMs) nextMs = Math.min(nextMs, atMs);
      else if (this.#handing.size < this.#input.subscription.concurrency) this.#hand(one);
    }
    if (nextMs < Number.POSITIVE_INFINITY)
      this.#wake = startTimer(() => this.#look(), Math.ceil(nextMs - nowMs));
  }

  #hand(one: LeasedPartition): void {
    const handing = one
      .hand(this.#input.subscription, this.#stopping.signal)
      .then(({ done }) => this.#leases.acknowledge(done.filter(({ lost }) => !lost)))
      .finally(() => {
        this.#handing.delete(handing);
        this.#makeRoom();
        this.#look();
      });
    this.#handing.add(handing);
  }

  async #renew(): Promise<void> {
    const all = [...this.#partitions.values()];
    await this.#leases.renew(all.flatMap((one) => one.all()));
    for (const one of all) one.dropLost();
    this.#makeRoom();
  }
}

/** The partition number of a queue: queues are numbered across the brokers, which are sorted by name. */
function numberIn({ brokers }: RocketmqRoute, { name }: RoutedBroker, queue: number): number {
  let before = 0;
  for (const broker of brokers) {
    if (broker.name === name) break;
    before += (broker.queues.at(-1) ?? 0) + 1;
  }
  return before + queue;
}

function partitionsOf(address: string, route: RocketmqRoute): readonly Partition[] {
  return route.brokers.flatMap((broker) =>
    broker.queues.map((queue) => ({ address, partition: numberIn(route, broker, queue) })),
  );
}
