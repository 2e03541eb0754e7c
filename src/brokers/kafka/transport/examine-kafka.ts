import { type DoctorFinding, judgeAll } from '../../../core/diagnosis.ts';
import type { Examined } from '../../capabilities.ts';
import type { KafkaConnection } from '../client/connection.ts';
import { examineCluster } from './examine.ts';
import { topicChecks } from './topic-checks.ts';

/**
 * Examines a cluster and the topics that a configuration uses of it.
 *
 * @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE` if no broker answers
 */
export async function examineKafka(
  connection: KafkaConnection,
  { addresses, name, receipts }: Examined,
): Promise<readonly DoctorFinding[]> {
  const wanted = [...addresses.map(({ address }) => address), ...(receipts === undefined ? [] : [receipts])];
  const { brokerCount, topics, version } = await examineCluster(connection, wanted);
  const brokers = connection.servers.join(',');
  const kafka = version === undefined ? 'Kafka' : `Kafka ${version}`;
  const message = `${kafka} at ${brokers}, ${brokerCount === 1 ? 'one broker' : `${brokerCount} brokers`}`;
  return [
    { check: name, state: 'ok', message, next: null },
    ...judgeAll(topicChecks, {
      brokers,
      brokerCount,
      receipts: receipts === undefined ? undefined : topics.has(receipts),
      topics: addresses.map((used) => ({ ...used, found: topics.get(used.address) })),
    }),
  ];
}
