import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { send } from '../../../src/index.ts';
import { showMessage } from '../../../src/operations/messages/show.ts';
import { type ConfirmStage, confirmStage } from '../../support/fixtures/confirm-stage.ts';
import { openPrisma } from '../../support/fixtures/prisma.ts';
import { until } from '../../support/fixtures/until.ts';

async function sendWithId(stage: ConfirmStage, id: string, n: number): Promise<boolean> {
  const prisma = openPrisma(stage.url);
  const { duplicate } = await prisma.$transaction((tx) => send(tx, stage.topic, { n }, { id, key: 'one' }));
  await prisma.$disconnect();
  return duplicate;
}

test('messages of two installations have their effects in one group although their senders chose the same id', {
  tags: ['effect-once'],
}, async () => {
  const receiptTimeout = '1h';
  const orders = await confirmStage({ onTestFinished }, { receiptTimeout });
  const refunds = await confirmStage({ onTestFinished }, { receiptTimeout, group: orders.group });
  const prisma = openPrisma(orders.url);
  onTestFinished(() => prisma.$disconnect());
  await Promise.all([orders.relay(), refunds.relay()]);
  const consumers = [await orders.consume({ prisma }), await refunds.consume({ prisma })];
  const counts = () => consumers.map((running) => running.counts());
  const id = randomUUID();

  expect(await sendWithId(orders, id, 1)).toBe(false);
  expect(await sendWithId(orders, id, 1), 'a repeated send stores one message').toBe(true);
  await until(async () => (await orders.states()).join() === 'confirmed');
  expect(await sendWithId(refunds, id, 2)).toBe(false);
  await until(async () => (await refunds.states()).join() === 'confirmed');

  expect(await orders.effects()).toEqual([1, 2]);
  expect(counts().map(({ handled, duplicates }) => [handled, duplicates])).toEqual([
    [1, 0],
    [1, 0],
  ]);
  const handled = (await showMessage(orders.database, id))?.timeline.filter(({ what }) => what === 'handled');
  expect(handled, 'the sender finds what its group did').toHaveLength(1);
});
