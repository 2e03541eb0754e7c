import { randomUUID } from 'node:crypto';
import { leaseKeyOf, membersKeyOf } from './group-names.ts';
import type { QueueLease } from './queue.ts';
import {
  joinSharedScript,
  releaseSharedScript,
  renewSharedScript,
  sharedOpenScript,
} from './shared-scripts.ts';
import { consumerName, type StreamPlace, type StreamReading } from './stream-reading.ts';
import { placeScript } from './stream-scripts.ts';

/** Holds the lease instead of a member: a member that reads alone waits, and those that share do not. */
const sharedHolder = 'shared';

/**
 * All members of the group read, each as a consumer of its own, and none keeps the order.
 *
 * A sorted set has the members and when they end unless they renew. Whoever finds one that has ended removes it and claims its
 * entries, atomically: a member that is still in the set therefore still has all of its own.
 *
 * Members share the lease of those that read alone, so that a group may change from one to the other while it runs: those
 * that come later wait until the last of the others has ended.
 */
export function readingTogether({ address, group }: StreamPlace): StreamReading {
  const keys = [leaseKeyOf(address, group), address, membersKeyOf(address, group)];
  const consumer = `${consumerName}/${randomUUID()}`;
  const ask = (script: string, { leaseMs }: QueueLease): readonly string[] => [
    'EVAL',
    script,
    String(keys.length),
    ...keys,
    sharedHolder,
    String(leaseMs),
    group,
    consumer,
  ];
  return {
    ordered: false,
    consumer,
    claimEveryMs: ({ leaseMs }) => leaseMs / 3,
    openCommand: (lease, { after, claimAfterMs, claims, most }) => [
      ...ask(sharedOpenScript, lease),
      most,
      claims ? String(claimAfterMs) : '',
      after,
    ],
    groupCommand: (lease) => ask(joinSharedScript + placeScript, lease),
    renew: async (client, lease) => (await client.sendCommand<number>(ask(renewSharedScript, lease))) === 1,
    release: async (client, lease) => {
      await client.sendCommand(ask(releaseSharedScript, lease));
    },
  };
}
