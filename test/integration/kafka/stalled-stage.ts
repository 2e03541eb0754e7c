import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { inject } from 'vitest';
import type { OnStalled } from '../../../src/relay/on-stalled.ts';
import type { RelayEvent } from '../../../src/relay/report.ts';
import { StalledGroups, type WatchedTransport } from '../../../src/relay/stalled-groups.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { kafka } from '../../../src/transports.ts';
import { createTestDatabase } from '../../support/fixtures/database.ts';
import { quietTemporal } from '../../support/fixtures/stage.ts';
import { createTopic, observer } from '../../support/kafka/kafka-topic.ts';

export const brokers = inject('kafkaBrokers');
const client = observer(brokers);
/** When a group of the stage is stalled. */
export const afterMs = 1_000;

export const noteTold: OnStalled = (tx, { group }) =>
  tx.$queryRawUnsafe('insert into told values ($1)', group);

interface Watch {
  readonly onStalled?: OnStalled;
  readonly database?: Database;
  readonly expected?: readonly string[];
  readonly after?: number;
  /** The topic that this relay knows at the address. @defaultValue `orders` */
  readonly topic?: string;
  /** The answer of the broker takes so long. @defaultValue 0 */
  readonly answerMs?: number;
}

/** A topic with two partitions on a real Kafka, whose groups are moved by hand, and what watches them. */
export async function stalledStage() {
  quietTemporal();
  const made = await createTestDatabase();
  await made.database.query('create table public.told (name text not null)');
  const transport = kafka({ servers: brokers });
  const address = await createTopic(client, { numPartitions: 2 });
  const [admin, producer] = [client.admin(), client.producer()];
  await Promise.all([admin.connect(), producer.connect()]);
  const group = `billing-${randomUUID()}`;
  const events: RelayEvent[] = [];
  const open: StalledGroups[] = [];
  const answers: number[] = [];
  return {
    ...made,
    transport,
    address,
    group,
    events,
    open,
    fill: (partition: number, count = 1) =>
      producer.send({
        topic: address,
        messages: Array.from({ length: count }, () => ({ partition, value: 'x' })),
      }),
    move: (partition: number, offset: number, who = group) =>
      admin.setOffsets({ groupId: who, topic: address, partitions: [{ partition, offset: String(offset) }] }),
    remove: () => admin.deleteTopics({ topics: [address] }),
    /** The number of answers that each of the watches has had. */
    answers,
    watch({
      onStalled = noteTold,
      database = made.database,
      expected = [],
      after = afterMs,
      ...more
    }: Watch = {}) {
      const { offsets, topics } = transport;
      if (offsets === undefined || topics === undefined) throw new Error('It lacks them.');
      const { topic: name = 'orders', answerMs = 0 } = more;
      const n = answers.push(0) - 1;
      const counted: WatchedTransport['offsets'] = {
        ends: (at) => offsets.ends(at),
        committed: (who, at) => offsets.committed(who, at),
        async lags(groups, addresses) {
          const lags = await offsets.lags(groups, addresses);
          await delay(answerMs);
          answers[n] = (answers[n] ?? 0) + 1;
          return lags;
        },
      };
      const watching = new StalledGroups({
        database,
        transports: [
          {
            name: 'kafka',
            offsets: counted,
            topics,
            addresses: new Map([[address, { topic: name, expected }]]),
          },
        ],
        groups: async () => [group],
        afterMs: after,
        onStalled,
        report: (event) => events.push(event),
      });
      open.push(watching);
      watching.start();
      return watching;
    },
    told: async () =>
      (await made.database.query<{ name: string }>('select name from told')).map(({ name }) => name),
    looks: async () =>
      Number(
        (await made.database.query<{ number: string }>('select number from outbox.group_look'))[0]?.number ??
          0,
      ),
    async end() {
      await Promise.all(open.map((one) => one.stop()));
      await Promise.all([admin.disconnect(), producer.disconnect(), transport.close()]);
      await made.drop();
    },
  };
}
