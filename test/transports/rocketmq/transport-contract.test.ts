import { expect, test } from 'vitest';
import { rocketmqConnection } from '../../../src/brokers/rocketmq/transport/rocketmq-options.ts';
import { rocketmqOver } from '../../../src/brokers/rocketmq/transport/rocketmq-transport.ts';
import { type TransportSubject, transportContract } from '../../../src/testing.ts';
import { startFaultProxy } from '../../support/faults/fault-proxy.ts';
import { delivered, newTopic, options } from './rocketmq-stage.ts';

const queues = 4;
/** Longer than what a broker takes. */
const tooLarge = 'z'.repeat(4 * 1_024 * 1_024 + 1);

/** Faults of a real proxy behind a real wire. */
async function subject(type: 'NORMAL' | 'FIFO'): Promise<TransportSubject> {
  const wire = await startFaultProxy(options.servers);
  const address = await newTopic(type, queues);
  return {
    address,
    partitions: 1,
    // Longer than a busy broker takes; only the case of the lost answers waits for it.
    transport: rocketmqOver({
      ...rocketmqConnection({ ...options, requestTimeout: '4s' }),
      through: () => wire.address,
    }),
    read: () => delivered(address, queues),
    dispose: () => wire.close(),
    faults: {
      heal: async () => wire.heal(),
      refused: (message) => ({ ...message, payload: tooLarge }),
      hold: async () => wire.inject({ kind: 'reset' }),
      loseAnswers: async () => wire.inject({ kind: 'drop-replies' }),
      reorder: async () => wire.inject({ kind: 'delay', ms: 1, jitterMs: 4 }),
    },
  };
}

for (const type of ['FIFO', 'NORMAL'] as const) {
  const cases = await transportContract(() => subject(type));

  test(`a topic of type ${type} runs every case except that of a lost partition`, () => {
    expect(cases).toHaveLength(17);
  });

  for (const { name, run } of cases) test(`${type}: ${name}`, run);
}
