import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { writeBreakers } from '../../../src/store/inbox/breakers.ts';
import type { StoryFault } from './alert-story.ts';
import type { StoryStage } from './story-stage.ts';

/** A group has read all but one message, and its last consumer has stopped ten minutes ago. */
export function noConsumer({ database, seen, topics: { orders } }: StoryStage): StoryFault {
  const { address } = orders.rules;
  /** @param left messages that the group has not read */
  const readBut = async (left: bigint): Promise<void> => {
    const admin = seen.admin();
    await admin.connect();
    const [end] = await admin.fetchTopicOffsets(address);
    const partitions = [{ partition: end?.partition ?? 0, offset: String(BigInt(end?.high ?? '0') - left) }];
    await admin.setOffsets({ groupId: 'reports', topic: address, partitions });
    await admin.disconnect();
  };
  return {
    name: 'no consumer of a group runs',
    tells: ['noConsumer group reports', 'stalledGroup group reports of orders'],
    prometheus: ['OutboxNoConsumer'],
    async begin() {
      await readBut(1n);
      await database.query(
        `insert into outbox.consumer_group values ('reports', null, outbox.clock() - interval '10 minutes')`,
      );
    },
    // And so far ahead that it misses nothing of the faults that follow.
    end: () => readBut(-1_000_000n),
  };
}

/** A consumer of another process says that most of its keys fail. */
export function addressPaused({ database, topics: { orders } }: StoryStage): StoryFault {
  const owner = { group: 'billing', consumer: randomUUID(), host: 'elsewhere', pid: 1 };
  const paused = {
    address: orders.rules.address,
    failedKeys: 9,
    keys: 10,
    probes: 3,
    nextProbeInMs: 1_000,
    error: 'connect ECONNREFUSED',
  };
  return {
    name: 'a dependency of handlers is away',
    tells: [`pausedAddress group billing at ${orders.rules.address}`],
    prometheus: ['OutboxPausedAddress'],
    async begin(again) {
      while (again()) {
        await writeBreakers(database, owner, [{ ...paused, pausedMs: 180_000 }]);
        await delay(1_000);
      }
    },
    end: () => writeBreakers(database, owner, []),
  };
}
