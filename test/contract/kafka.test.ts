import { expect, inject, test } from 'vitest';
import { kafkaConnection } from '../../src/brokers/kafka/transport/kafka-options.ts';
import { kafkaOver } from '../../src/brokers/kafka/transport/kafka-transport.ts';
import type { TransportSubject } from '../../src/testing/contract-subject.ts';
import { transportContract } from '../../src/testing/transport-contract.ts';
import { faultWire } from '../support/faults/fault-wire.ts';
import { readTopic } from '../support/kafka/kafka-reader.ts';
import { createTopic, observer } from '../support/kafka/kafka-topic.ts';

const partitions = 3;
const brokers = inject('kafkaBrokers');
const kafka = observer(brokers);
const tooLarge = 'z'.repeat(1_100_000);

/** Faults of a real broker behind a real wire. One partition alone fails in `kafka-partition.test.ts`. */
async function subject(): Promise<TransportSubject> {
  const wire = await faultWire();
  const address = await createTopic(kafka, { numPartitions: partitions });
  return {
    address,
    partitions,
    // Longer than a busy broker takes; only the case of the lost answers waits for it.
    transport: kafkaOver(kafkaConnection({ servers: brokers, requestTimeout: 5_000 }), wire.reach),
    read: () => readTopic(kafka, address),
    dispose: () => wire.close(),
    faults: {
      heal: async () => wire.heal(),
      refused: (message) => ({ ...message, payload: tooLarge }),
      hold: async () => wire.set('refuse'),
      loseAnswers: async () => wire.set('drop-replies'),
      reorder: async () => wire.set('late'),
    },
  };
}

const cases = await transportContract(subject);

test('Kafka runs every case of the contract except that of a lost partition', {
  tags: ['inconclusive-may-be-stored'],
}, () => {
  expect(cases).toHaveLength(17);
});

for (const { name, run } of cases) test(name, run, 90_000);
