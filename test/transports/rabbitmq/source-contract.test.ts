import { randomUUID } from 'node:crypto';
import { expect, inject, test } from 'vitest';
import { keyHeader } from '../../../src/brokers/rabbitmq/client/key-header.ts';
import { type SourceSubject, sourceContract } from '../../../src/testing.ts';
import { type RabbitmqQueues, rabbitmq } from '../../../src/transports.ts';
import { brokerAt } from './broker.ts';

/** Two exchanges; their queues exist from the beginning where the subject says how consumers find them. */
async function subject(queues: RabbitmqQueues, existing: readonly string[] = []): Promise<SourceSubject> {
  const broker = await brokerAt();
  const confirmed = await broker.model.createConfirmChannel();
  const name = `arrivals-${randomUUID().slice(0, 8)}`;
  const addresses = [name, `${name}-other`] as const;
  for (const address of addresses) {
    await broker.channel.assertExchange(address, 'fanout');
    for (const queue of existing) {
      await broker.channel.assertQueue(`${address}${queue}`, {
        arguments: {
          'x-queue-type': 'quorum',
          ...(queues.order !== false && { 'x-single-active-consumer': true }),
        },
      });
      await broker.channel.bindQueue(`${address}${queue}`, address, '');
    }
  }
  return {
    source: rabbitmq({ url: inject('rabbitmqUrl'), queues }).source(),
    addresses,
    partitions: 1,
    async send(address, messages) {
      for (const { body, headers, key } of messages)
        confirmed.publish(address, '', Buffer.from(body ?? ''), {
          persistent: true,
          messageId: randomUUID(),
          headers: { ...headers, ...(key !== null && { [keyHeader]: key }) },
        });
      await confirmed.waitForConfirms();
    },
    async dispose() {
      for (const address of addresses) await broker.channel.deleteExchange(address);
      for (const address of addresses)
        for (const queue of existing) await broker.channel.deleteQueue(`${address}${queue}`);
      await broker.close();
    },
  };
}

/** Queues that exist before their consumers: each group of a case finds the one whose name it ends with. */
const existing: RabbitmqQueues = {
  name: (address, group) => `${address}${group.endsWith('-other') ? '.second' : '.first'}`,
};
const made = ['.first', '.second'];

/** A queue that exists has what came before. */
const beginsBefore = ({ name }: { readonly name: string }): boolean =>
  !name.startsWith('a group that begins with new');

const ordered = sourceContract(() => subject(existing, made), ['order', 'history', 'groups']);
const shared = sourceContract(() => subject({ ...existing, order: false }, made), ['history', 'groups']);
const fresh = sourceContract(() => subject({}), ['order', 'groups']);

test('the cases that the abilities leave out are listed', () => {
  expect(ordered.skipped.map(({ missing }) => missing)).toEqual([
    ['empty-body'],
    ['partitions'],
    ['partitions'],
    ['partitions'],
  ]);
  for (const { cases } of [ordered, shared])
    expect(cases.filter((one) => !beginsBefore(one))).toHaveLength(1);
});

const all = [
  ...ordered.cases.map((one) => ({ ...one, title: `in order: ${one.name}` })).filter(beginsBefore),
  ...shared.cases.map((one) => ({ ...one, title: `shared: ${one.name}` })).filter(beginsBefore),
  ...fresh.cases.map((one) => ({ ...one, title: `a queue of its own: ${one.name}` })),
];

for (const { run, title } of all) test(title, run);
