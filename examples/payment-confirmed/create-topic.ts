import { Kafka, logLevel } from 'kafkajs';
import { overRocketmq } from './broker.ts';
import { paymentMade } from './topics.ts';

if (overRocketmq) process.exit(); // `migrate --create` makes several queues.
// Several partitions, so that one can be ahead of another; `migrate --create` makes as many as the broker's default, often one.
const brokers = (process.env['KAFKA_BROKERS'] ?? 'localhost:9092').split(',');
const admin = new Kafka({ brokers, logLevel: logLevel.NOTHING }).admin();
await admin.connect();
await admin.createTopics({ topics: [{ topic: paymentMade.rules.address, numPartitions: 4 }] });
await admin.disconnect();
