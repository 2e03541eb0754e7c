import { expect, test } from 'vitest';
import { until } from '../../support/fixtures/until.ts';
import { idsOf, stage } from './source-stage.ts';

test('an exchange that is deleted and created again is bound again, while its queue is consumed', {
  tags: ['rabbitmq-order-and-effects'],
}, async () => {
  const { address, broker, join, offered, send, troubles } = await stage({}, { bindEveryMs: 200 });
  await join();
  send('before');
  await until(() => offered.length === 1);
  await broker.channel.deleteExchange(address);
  await broker.channel.assertExchange(address, 'fanout');

  let n = 0;
  const sent = (): readonly string[] => {
    n += 1;
    send(`after-${n}`);
    return idsOf(offered);
  };
  await expect.poll(sent).toContainEqual(expect.stringMatching(/^after-/));
  // On the same connection, and the same channel.
  expect(troubles).toEqual([]);
});

test('an exchange that is missing for a time does not stop consumers of its queue', async () => {
  const { address, broker, join, offered, troubles } = await stage({}, { bindEveryMs: 50 });
  await join();
  await broker.channel.deleteExchange(address);
  for (const messageId of ['one', 'two'])
    broker.channel.sendToQueue(`${address}.stock`, Buffer.from('x'), { messageId });

  await until(() => offered.length === 2);
  expect(troubles).toEqual([]);
});
