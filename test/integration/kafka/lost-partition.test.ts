import { afterEach, beforeEach, expect, test } from 'vitest';
import { consumer } from '../../../src/app/consumer/consumer.ts';
import { InboxStage, writeEffect } from '../../support/fixtures/inbox-stage.ts';
import { until } from '../../support/fixtures/until.ts';
import { kickMember } from '../../support/kafka/kick-member.ts';

let stage: InboxStage;
beforeEach(async () => {
  stage = await InboxStage.create(1);
});
afterEach(() => stage.end());

test('a handler is signaled when its member has left the group, and after rejoining its message is handled', {
  tags: ['handler-signal-fires'],
}, async () => {
  const reasons: unknown[] = [];
  const begun: number[] = [];
  const failures: unknown[] = [];
  const running = await consumer(stage.prisma, {
    config: stage.config,
    group: stage.group,
    transactionTimeout: '1m',
    report: (event) => {
      if (event.type === 'attempt-failed') failures.push(event.error);
    },
  })
    .on(stage.topic, async (tx, message, { signal }) => {
      begun.push(message.payload.n);
      if (begun.length === 1) {
        await new Promise<void>((resolve) => {
          signal.addEventListener('abort', () => resolve(), { once: true });
        });
        reasons.push(signal.reason);
        signal.throwIfAborted();
      }
      await writeEffect(tx, 'one', message);
    })
    .start();
  await stage.publish([{ n: 1 }]);
  await until(() => begun.length === 1);

  await kickMember(stage.brokers, stage.group);
  await until(() => running.counts().handled === 1, 60_000);

  expect(reasons).toMatchObject([{ code: 'OUTBOX_HANDLER_GIVEN_UP' }]);
  expect(begun).toEqual([1, 1]);
  expect(failures).toEqual([]);
  expect(await stage.effects()).toEqual([1]);
  expect(await stage.kept()).toEqual([]);
  await running.stop();
});
