import { randomUUID } from 'node:crypto';
import { test } from 'vitest';
import { openEffectOnceStage } from '../../../support/faults/effect-once.ts';
import { ownRedis } from '../../../support/fixtures/own-redis.ts';

test.each([
  ['redis-stream', 7],
  ['redis-list', 11],
] as const)(
  'F17: over a %s each effect occurs once and in order, although consumer and server die before the acknowledgement',
  async (kind, pass) => {
    const redis = await ownRedis(['--appendfsync', 'always']);
    const place = { kind, url: redis.url };
    const stage = await openEffectOnceStage({ place, address: `orders-${randomUUID()}`, count: 60 });
    await stage.commit();
    await stage.runKilled(pass);
    await redis.node.stop('SIGKILL');
    await redis.node.start();
    await stage.expectRest();
  },
);
