import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Producer, SimpleConsumer } from 'rocketmq-client-nodejs';
import { startRocketmq } from '../../dev/servers/index.ts';
import { type OutgoingMessage, type ReceivingTransport, rocketmq } from '../../src/transports.ts';
import { BrokerAdmin } from '../../test/transports/rocketmq/broker-admin.ts';
import { overall } from '../workload.ts';
import { aMessage, rateOf, receive, send } from './broker-load.ts';
import type { Rates, TransportFigures, TransportSizes } from './transport-figures.ts';

const batchSize = 1_000;
/** Messages on their way at once, as the transport has them. */
const inFlight = 128;
const group = 'bench';
/** What a broker gives at most, and both take. */
const most = 32;
/** Part of the messages of other transports that is measured, because each costs so much more. */
const share = 0.2;
const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** Measures a topic of type FIFO with four queues: acknowledged messages sent, and received. */
export async function measureRocketmq({
  messages,
  rounds,
  tell,
}: TransportSizes): Promise<readonly TransportFigures[]> {
  const { ROCKETMQ_ENDPOINTS: _given, ...env } = process.env;
  const server = await startRocketmq({ env });
  const [endpoints = ''] = server.endpoints;
  const transport = rocketmq({ servers: endpoints });
  try {
    const admin = new BrokerAdmin(server.broker ?? '');
    await admin.createGroup(group, true);
    const sent = { ours: [] as number[], bare: [] as number[] };
    const received = { ours: [] as number[], bare: [] as number[] };
    const count = Math.max(1, Math.round((messages * share) / batchSize)) * batchSize;
    // The first round is for the compilers.
    for (let round = 0; round <= rounds; round += 1) {
      const one = await measureOnce({ admin, endpoints, transport }, round === 0 ? 3 * batchSize : count);
      if (round === 0) continue;
      for (const by of ['ours', 'bare'] as const) {
        sent[by].push(one.sent[by]);
        received[by].push(one.received[by]);
      }
      tell(`rocketmq, round ${round}: ${JSON.stringify(one)}`);
    }
    return [{ name: 'rocketmq', sent: ratesOf(sent), received: ratesOf(received) }];
  } finally {
    await transport.close();
    await server.stop();
  }
}

function ratesOf({ ours, bare }: { readonly ours: number[]; readonly bare: number[] }): Rates {
  return { ours: overall(ours), bare: overall(bare) };
}

interface Stage {
  readonly admin: BrokerAdmin;
  readonly endpoints: string;
  readonly transport: ReceivingTransport;
}

async function measureOnce(
  { admin, endpoints, transport }: Stage,
  count: number,
): Promise<{ readonly sent: Rates; readonly received: Rates }> {
  const [ours, bare] = [`bench-${randomUUID()}`, `bench-${randomUUID()}`];
  for (const topic of [ours, bare]) {
    await admin.createTopic(topic, 'FIFO', 4);
    // The name server learns of it a moment later, and the bare producer does not wait for that.
    while (!(await isThere(transport, topic))) await delay(100);
  }
  const batches = Array.from({ length: count / batchSize }, () =>
    Array.from({ length: batchSize }, () => aMessage()),
  );
  const producer = new Producer({ endpoints, namespace: '', maxAttempts: 1, topics: [bare], logger: quiet });
  await producer.startup();
  const sent = {
    bare: await rateOf(count, async () => {
      for (const batch of batches) await sendBare(producer, bare, batch);
    }),
    ours: await rateOf(count, () => send(transport, ours, batches)),
  };
  await producer.shutdown();
  const received = {
    bare: await rateOf(count, () => receiveBare(endpoints, bare, count)),
    ours: await rateOf(count, () =>
      receive(transport, { addresses: [ours], group, concurrency: 4, batchSize: most }, count),
    ),
  };
  return { sent, received };
}

const isThere = (transport: ReceivingTransport, topic: string): Promise<boolean> =>
  transport.probe(topic).then(
    () => true,
    () => false,
  );

async function sendBare(producer: Producer, topic: string, batch: readonly OutgoingMessage[]): Promise<void> {
  const left = batch.values();
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      for (const { headers, id, key, payload } of left)
        await producer.send({
          topic,
          keys: [id],
          body: Buffer.from(payload),
          messageGroup: key ?? id,
          properties: new Map(Object.entries(headers)),
        });
    }),
  );
}

/** Each message is acknowledged alone: the client knows no other way. */
async function receiveBare(endpoints: string, topic: string, count: number): Promise<void> {
  const consumer = new SimpleConsumer({
    endpoints,
    namespace: '',
    consumerGroup: group,
    subscriptions: new Map([[topic, '*']]),
    awaitDuration: 5_000,
    logger: quiet,
  });
  await consumer.startup();
  for (let done = 0; done < count; ) {
    const messages = await consumer.receive(most, 30_000);
    for (const { properties } of messages) if (!properties.has('ce_id')) throw new Error('It is empty.');
    await Promise.all(messages.map((message) => consumer.ack(message)));
    done += messages.length;
  }
  await consumer.shutdown();
}
