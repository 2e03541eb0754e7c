import { randomUUID } from 'node:crypto';
import { expect, inject, onTestFinished, test } from 'vitest';
import { rabbitmq } from '../../../../src/transports.ts';
import { laneFixture } from '../../../support/fixtures/lane-fixture.ts';
import { brokerAt } from '../broker.ts';

const url = inject('rabbitmqUrl');

test('I5: a message that one queue refused and another accepted cannot be canceled', {
  tags: ['rabbitmq-unstored-is-unpublished'],
}, async () => {
  const address = `orders-${randomUUID().slice(0, 8)}`;
  const broker = await brokerAt(url);
  const transport = rabbitmq({ url });
  const fixture = await laneFixture({ address, retry: ['1h'] });
  onTestFinished(async () => {
    await transport.close();
    await broker.close();
    await fixture.drop();
  });
  await broker.channel.assertExchange(address, 'fanout');
  const full = `${address}.full`;
  await broker.channel.assertQueue(full, {
    arguments: { 'x-queue-type': 'quorum', 'x-max-length': 1, 'x-overflow': 'reject-publish' },
  });
  await broker.channel.assertQueue(`${address}.open`, { arguments: { 'x-queue-type': 'quorum' } });
  for (const queue of [full, `${address}.open`]) await broker.channel.bindQueue(queue, address, '');
  const route = { name: fixture.topic, rules: fixture.rules, transport };

  // The full queue takes some more than its limit, until its leader has told.
  let sent = 0;
  const last = (): string => `order-${sent}`;
  await expect
    .poll(async () => {
      sent += 1;
      await fixture.send(last());
      await fixture.drain({ route });
      return (await fixture.row(last())).state;
    })
    .toBe('retrying');

  // The queues answer on their own: the refusal may come before the other queue shows the message.
  const arrived: (string | undefined)[] = [];
  await expect
    .poll(async () => {
      arrived.push(...(await broker.read(`${address}.open`)).map(({ id }) => id));
      return arrived;
    })
    .toContain(fixture.idOf(last()));
  expect(await fixture.cancel(last())).toBe('too-late');
  expect(await fixture.row(last())).toMatchObject({ state: 'retrying', maybePublished: true });
});
