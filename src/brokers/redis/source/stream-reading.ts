import type { RedisClient } from '../client/open-client.ts';
import { leaseKeyOf } from './group-names.ts';
import { type QueueLease, releaseReading, renewReading } from './queue.ts';
import { groupScript, openScript } from './stream-scripts.ts';

/** Where a group reads. */
export interface StreamPlace {
  readonly address: string;
  readonly group: string;
}

/** A question for entries that are open. */
export interface OpenQuestion {
  /** The most entries, as a text. */
  readonly most: string;
  /** The id after which they are wanted; if order is kept, always `0`. */
  readonly after: string;
  /** Whether entries of other consumers are claimed before. */
  readonly claims: boolean;
  /** The idle time after which entries of other programs are claimed. */
  readonly claimAfterMs: number;
}

/** How the members of a group read a stream: one at a time, or all of them. */
export interface StreamReading {
  /** Whether one member reads at a time, so that the order is kept. */
  readonly ordered: boolean;
  /** The consumer of the group as which this member reads. */
  readonly consumer: string;
  /** How long after a search for entries to claim the next one is due. */
  claimEveryMs(lease: QueueLease, claimAfterMs: number): number;
  /** Takes the lease and returns open entries: see {@link openScript}. */
  openCommand(lease: QueueLease, question: OpenQuestion): readonly string[];
  /** Takes the lease and returns how far the group is: see {@link groupScript}. */
  groupCommand(lease: QueueLease): readonly string[];
  renew(client: RedisClient, lease: QueueLease): Promise<boolean>;
  release(client: RedisClient, lease: QueueLease): Promise<void>;
}

/** The only consumer of each group: the lease holder reads under this name, and finds what its predecessor left open. */
export const consumerName = 'temporal-outbox';

/** One member at a time holds the lease, and is the only consumer of the group. */
export function readingAlone({ address, group }: StreamPlace): StreamReading {
  const leaseKey = leaseKeyOf(address, group);
  const ask = (script: string, { holder, leaseMs }: QueueLease): readonly string[] => [
    'EVAL',
    script,
    '2',
    leaseKey,
    address,
    holder,
    String(leaseMs),
    group,
  ];
  return {
    ordered: true,
    consumer: consumerName,
    claimEveryMs: (_lease, claimAfterMs) => claimAfterMs,
    openCommand: (lease, { claimAfterMs, claims, most }) => [
      ...ask(openScript, lease),
      consumerName,
      most,
      claims ? String(claimAfterMs) : '',
    ],
    groupCommand: (lease) => ask(groupScript, lease),
    renew: (client, lease) => renewReading(client, leaseKey, lease),
    release: (client, lease) => releaseReading(client, leaseKey, lease),
  };
}
