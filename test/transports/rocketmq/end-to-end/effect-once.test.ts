import { test } from 'vitest';
import { group, openEffectOnceStage } from '../../../support/faults/effect-once.ts';
import { admin, newTopic, options } from '../rocketmq-stage.ts';

test('F17: over RocketMQ each effect occurs once and in order, although a consumer dies before it acknowledges', {
  tags: ['rocketmq-order-and-effects'],
}, async () => {
  const address = await newTopic('FIFO', 2);
  await admin.createGroup(group, true);
  const place = { kind: 'rocketmq', options: { ...options, invisibleTime: '10s' } } as const;
  const stage = await openEffectOnceStage({ place, address, count: 150 });
  await stage.commit();
  await stage.runKilled(20);
  await stage.expectRest(50_000);
});
