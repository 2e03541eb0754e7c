import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { writeBreakers } from '../../../src/store/inbox/breakers.ts';
import type { StoryFault } from './alert-story.ts';
import type { StoryStage } from './story-stage.ts';

/** A group has begun to read, and its last consumer has stopped ten minutes ago. */
export function noConsumer({ database, seen, topics: { orders } }: StoryStage): StoryFault {
  return {
    name: 'no consumer of a group runs',
    tells: ['noConsumer group reports'],
    prometheus: ['OutboxNoConsumer'],
    async begin() {
      const admin = seen.admin();
      await admin.connect();
      const partitions = [{ partition: 0, offset: '0' }];
      await admin.setOffsets({ groupId: 'reports', topic: orders.rules.address, partitions });
      await admin.disconnect();
      await database.query(
        `insert into outbox.consumer_group values ('reports', null, outbox.clock() - interval '10 minutes')`,
      );
    },
    async end() {
      await database.query(`delete from outbox.consumer_group where consumer_group = 'reports'`);
    },
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
    prometheus: ['OutboxAddressPaused'],
    async begin(again) {
      while (again()) {
        await writeBreakers(database, owner, [{ ...paused, pausedMs: 180_000 }]);
        await delay(1_000);
      }
    },
    end: () => writeBreakers(database, owner, []),
  };
}
