// @module-tag rocketmq-order-and-effects
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { rocketmqSource } from '../../../src/brokers/rocketmq/source/rocketmq-source.ts';
import { rocketmqConnection } from '../../../src/brokers/rocketmq/transport/rocketmq-options.ts';
import { rocketmqOver } from '../../../src/brokers/rocketmq/transport/rocketmq-transport.ts';
import type { IncomingBatch, Partition } from '../../../src/brokers/source.ts';
import { startFaultProxy } from '../../support/faults/fault-proxy.ts';
import { gate } from '../../support/fixtures/gate.ts';
import { until } from '../../support/fixtures/until.ts';
import { admin, newTopic, options } from './rocketmq-stage.ts';
import { batchOf, idsOf, receiving, stored } from './traffic.ts';

/** With renewals that a busy server may answer seconds late. */
const invisibleMs = 8_000;
const kinds = ['FIFO', 'NORMAL'] as const;
/** Whose messages are others' after that much silence. */
function transportOf(through?: string) {
  const transport = rocketmqOver({
    ...rocketmqConnection(options),
    invisibleMs,
    ...(through !== undefined && { through: () => through }),
  });
  onTestFinished(() => transport.close());
  return transport;
}

async function stage(type: 'FIFO' | 'NORMAL', count: number) {
  const address = await newTopic(type, 1);
  const group = `${address}-group`;
  await admin.createGroup(group, type === 'FIFO');
  const messages = Array.from({ length: count }, (_, n) => ({ id: `m-${n}`, key: 'a' }));
  await stored(transportOf(), address, ...messages);
  return { addresses: [address], group };
}

/** A member that keeps its one message until it is released, and another that would get it. */
async function holding(type: 'FIFO' | 'NORMAL') {
  const place = await stage(type, 1);
  const { opened, open } = gate();
  onTestFinished(open);
  const lost: boolean[] = [];
  const slow = await receiving(transportOf().source(), {
    ...place,
    async handle(batch) {
      await opened;
      lost.push(batch.lost.aborted);
      for (const message of batch.messages) batch.acknowledge(message);
    },
  });
  await until(() => slow.arrived.length > 0);
  return { place, slow, lost, open };
}

const held: readonly (readonly ['FIFO' | 'NORMAL', boolean])[] = [
  ['FIFO', false],
  ['NORMAL', false],
  ['FIFO', true],
];

test('a handler may take longer than the invisible time and keeps its messages, also when its member was told to stop', async () => {
  await Promise.all(
    held.map(async ([type, told]) => {
      const { lost, open, place, slow } = await holding(type);
      const beganAtMs = performance.now();
      const stopped = told ? slow.stop() : undefined;
      const other = await receiving(transportOf().source(), place);
      await until(() => other.arrived.length > 0 || performance.now() - beganAtMs > 2 * invisibleMs);
      open();
      await (stopped ?? slow.stop());
      await transportOf().publish(batchOf(place.addresses[0] ?? '', { id: 'm-1', key: 'a' }));
      await until(() => idsOf(other.arrived).includes('m-1'));

      expect([lost, idsOf(slow.arrived), idsOf(other.arrived)], `${type}, told to stop: ${told}`).toEqual([
        [false],
        ['m-0'],
        ['m-1'],
      ]);
    }),
  );
});

test.each(kinds)(
  '%s: a member that stops renewing loses its messages to another, and is notified',
  async (type) => {
    const place = await stage(type, 2);
    const wire = await startFaultProxy(options.servers);
    onTestFinished(() => wire.close());
    const batches: IncomingBatch[] = [];
    const silent = await receiving(transportOf(wire.address).source(), {
      ...place,
      async handle(batch) {
        batches.push(batch);
        await new Promise<void>((resolve) => {
          batch.lost.addEventListener('abort', () => resolve());
        });
      },
    });
    await until(() => silent.arrived.length > 0);
    wire.inject({ kind: 'blackhole' });

    const other = await receiving(transportOf().source(), place);
    await until(() => other.arrived.length >= 2);
    await until(() => batches[0]?.lost.aborted === true);
    expect(batches[0]?.mayBegin()).toBe(false);
    const ids = idsOf(other.arrived);
    if (type === 'FIFO') expect(ids).toEqual(['m-0', 'm-1']);
    else expect(new Set(ids)).toEqual(new Set(['m-0', 'm-1']));
    wire.heal();
  },
);

test('a message that is rejected repeatedly is not counted as delivered again and never becomes a dead letter', async () => {
  const address = await newTopic('FIFO', 1);
  const group = `${address}-group`;
  await admin.createGroup(group, true);
  const transport = transportOf();
  await transport.publish(batchOf(address, { id: 'm-1', key: 'a' }, { id: 'm-2', key: 'a' }));
  let offers = 0;
  const member = await receiving(transport.source(), {
    addresses: [address],
    group,
    async handle(batch) {
      offers += 1;
      // After two deliveries RocketMQ puts a message aside from now on. With such a group no consumer would have joined.
      if (offers === 1) await admin.createGroup(group, true, 1);
      for (const message of batch.messages) {
        if (offers < 20) batch.reject(message, 1);
        else batch.acknowledge(message);
      }
    },
  });
  await until(() => offers === 20);
  await member.stop();

  expect(member.arrived).toHaveLength(40);
  await admin.createGroup(group, true);
  const next = await receiving(transport.source(), { addresses: [address], group });
  await transport.publish(batchOf(address, { id: 'm-3', key: 'a' }));
  await until(() => next.arrived.length > 0);
  expect(idsOf(next.arrived)).toEqual(['m-3']);
});

test('a missing group, or one without order for a FIFO topic, is reported, and joined once it is right', async () => {
  const address = await newTopic('FIFO', 1);
  const group = randomUUID();
  const told: unknown[] = [];
  const joining = receiving(transportOf().source(), {
    addresses: [address],
    group,
    disconnected: (error) => void told.push(error),
  });
  await until(() => told.length > 0);
  await admin.createGroup(group, false);
  const before = told.length;
  await until(() => told.length > before + 1);
  await admin.createGroup(group, true);
  await joining;

  for (const error of told)
    expect(error).toMatchObject({
      code: 'OUTBOX_GROUP_UNFIT',
      message: expect.stringContaining(`${address} is of type FIFO`),
    });
});

test('a group that is missing or puts messages aside after few deliveries is reported, and joined once corrected', async () => {
  const told: unknown[] = [];
  const group = randomUUID();
  const address = await newTopic('NORMAL', 1);
  const joining = receiving(transportOf().source(), {
    addresses: [address],
    group,
    disconnected: (error) => void told.push(error),
  });
  const joined = joining.then(() => 'joined');
  expect(await Promise.race([joined, until(() => told.length > 0)])).toBeUndefined();
  // RocketMQ's default.
  await admin.createGroup(group, false, 16);
  const before = told.length;
  expect(await Promise.race([joined, until(() => told.length > before + 1)])).toBeUndefined();
  await admin.createGroup(group, false);
  const member = await joining;

  for (const error of told)
    expect(error).toMatchObject({
      code: 'OUTBOX_GROUP_UNFIT',
      message: expect.stringMatching(`${group} .* to %DLQ%${group} after 17 deliveries`),
    });
  await transportOf().publish(batchOf(address, { id: 'm-1' }));
  await until(() => member.arrived.length === 1);
});

test('a message renewed while it is being acknowledged is not delivered again', async () => {
  const place = await stage('FIFO', 4);
  const wire = await startFaultProxy(options.servers);
  onTestFinished(() => wire.close());
  const member = await receiving(transportOf(wire.address).source(), {
    ...place,
    batchSize: 1,
    async handle(batch) {
      // As long as from one renewal to the next, whose answers are late.
      await delay(invisibleMs / 3);
      for (const message of batch.messages) batch.acknowledge(message);
    },
  });
  await until(() => member.arrived.length > 0);
  wire.inject({ kind: 'delay', ms: 150 });
  await until(() => idsOf(member.arrived).length === 4, 60_000);
  wire.heal();
  await member.stop();
  await transportOf().publish(batchOf(place.addresses[0] ?? '', { id: 'last', key: 'a' }));
  const next = await receiving(transportOf().source(), place);
  await until(() => next.arrived.length > 0);

  expect(member.arrived).toHaveLength(4);
  expect(idsOf(next.arrived)).toEqual(['last']);
});

test('a full member continues to receive from all of its topics', async () => {
  const group = randomUUID();
  await admin.createGroup(group, true);
  const addresses = [await newTopic('FIFO', 1), await newTopic('FIFO', 1), await newTopic('FIFO', 1)];
  const count = 40;
  const messages = Array.from({ length: count }, (_, n) => ({ id: `m-${n}` }));
  for (const address of addresses) await transportOf().publish(batchOf(address, ...messages));
  const place = { addresses, group, concurrency: 1, batchSize: 1 };
  const member = await receiving(transportOf().source(), place);

  // One after the other; on a busy machine that takes its time, and some come twice.
  const different = () => new Set(member.arrived.map((one) => `${one.address} ${idsOf([one]).join()}`)).size;
  await until(() => different() === addresses.length * count, 120_000);
});

test('a stopped member and a closed transport hold no connection', async () => {
  const place = await stage('FIFO', 1);
  const wire = await startFaultProxy(options.servers);
  onTestFinished(() => wire.close());
  const transport = transportOf(wire.address);
  const member = await receiving(transport.source(), place);
  await transport.probe(place.addresses[0] ?? '');
  await until(() => member.arrived.length === 1);
  expect(wire.connections()).toBe(2);

  await member.stop();
  await transport.close();

  await until(() => wire.connections() === 0);
});

test('a member receives from queues that are added to its topic', async () => {
  const { addresses, group } = await stage('FIFO', 1);
  const [address = ''] = addresses;
  const assigned: (readonly Partition[])[] = [];
  const member = await receiving(rocketmqSource(rocketmqConnection(options), 100), {
    addresses,
    group,
    assigned: (partitions) => void assigned.push(partitions),
  });
  await until(() => member.arrived.length === 1);
  await admin.createTopic(address, 'FIFO', 3);
  await until(() => assigned.length > 1);
  await transportOf().publish(batchOf(address, { id: 'm-1', key: 'a' }));
  await until(() => member.arrived.length === 2);

  expect(assigned.map((partitions) => partitions.map(({ partition }) => partition))).toEqual([
    [0],
    [0, 1, 2],
  ]);
  expect(idsOf(member.arrived)).toEqual(['m-0', 'm-1']);
});

test('a missing topic is reported at once, and the join fails after its timeout', async () => {
  const told: unknown[] = [];
  const joining = receiving(transportOf().source(), {
    addresses: ['no-such-topic'],
    joinWithinMs: 5_000,
    disconnected: (error) => void told.push(error),
  });
  await expect(joining).rejects.toMatchObject({
    code: 'OUTBOX_ADDRESS_MISSING',
    message: expect.stringContaining('has no topic no-such-topic'),
  });
  expect(told[0]).toMatchObject({ code: 'OUTBOX_ADDRESS_MISSING' });
});
