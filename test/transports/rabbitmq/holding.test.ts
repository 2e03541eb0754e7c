import { expect, test } from 'vitest';
import { until } from '../../support/fixtures/until.ts';
import { idsOf, stage } from './source-stage.ts';

test('messages that a consumer has held for too long return together, and go to the next consumer in order', {
  tags: ['rabbitmq-order-and-effects'],
}, async () => {
  const { join, offered, send, troubles } = await stage({}, { holdForMs: 1_000 });
  let rejected = 0;
  await join({
    async handle(batch) {
      rejected += batch.messages.length;
      const [first] = batch.messages;
      if (first !== undefined) batch.reject(first, 60_000);
    },
  });
  send('one', 'two', 'three');
  await until(() => rejected > 0);
  await join();
  send('four');

  await expect.poll(() => idsOf(offered)).toEqual(['one', 'two', 'three', 'four']);

  expect(troubles).toEqual([]);
});
