import { randomUUID } from 'node:crypto';
import { type Channel, type ChannelModel, type ConfirmChannel, connect } from 'amqplib';
import { startRabbitmq } from '../../dev/servers/index.ts';
import { propertiesOf } from '../../src/brokers/rabbitmq/transport/properties.ts';
import { type OutgoingMessage, type ReceivingTransport, rabbitmq } from '../../src/transports.ts';
import { overall } from '../workload.ts';
import { aMessage, rateOf, receive, send } from './broker-load.ts';
import type { Rates, TransportFigures, TransportSizes } from './transport-figures.ts';

const batchSize = 2_000;
const inFlight = 1_000;
const group = 'bench';
const quorum = { arguments: { 'x-queue-type': 'quorum', 'x-single-active-consumer': true } };

/** Measures a quorum queue on a separate single node: confirmed messages sent, and acknowledged messages received. */
export async function measureRabbitmq({
  messages,
  rounds,
  tell,
}: TransportSizes): Promise<readonly TransportFigures[]> {
  const server = await startRabbitmq({ env: process.env });
  const model = await connect(server.url);
  const transport = rabbitmq({ url: server.url, concurrency: inFlight });
  try {
    const sent = { ours: [] as number[], bare: [] as number[] };
    const received = { ours: [] as number[], bare: [] as number[] };
    // The first round is the warm-up.
    for (let round = 0; round <= rounds; round += 1) {
      const one = await measureOnce(transport, model, round === 0 ? 5 * batchSize : messages);
      if (round === 0) continue;
      for (const by of ['ours', 'bare'] as const) {
        sent[by].push(one.sent[by]);
        received[by].push(one.received[by]);
      }
      tell(`rabbitmq, round ${round}: ${JSON.stringify(one)}`);
    }
    return [{ name: 'rabbitmq', sent: ratesOf(sent), received: ratesOf(received) }];
  } finally {
    await transport.close();
    await model.close();
    await server.stop();
  }
}

function ratesOf({ ours, bare }: { readonly ours: number[]; readonly bare: number[] }): Rates {
  return { ours: overall(ours), bare: overall(bare) };
}

async function measureOnce(
  transport: ReceivingTransport,
  model: ChannelModel,
  messages: number,
): Promise<{ readonly sent: Rates; readonly received: Rates }> {
  const confirmed = await model.createConfirmChannel();
  const batches = Array.from({ length: messages / batchSize }, () =>
    Array.from({ length: batchSize }, () => aMessage()),
  );
  const [ours, bare] = [await queue(confirmed), await queue(confirmed)];
  const sent = {
    bare: await rateOf(messages, async () => {
      for (const batch of batches) await sendBare(confirmed, bare, batch);
    }),
    ours: await rateOf(messages, () => send(transport, ours, batches)),
  };
  const receiving = await model.createChannel();
  const received = {
    bare: await rateOf(messages, () => receiveBare(receiving, `${bare}.${group}`, messages)),
    ours: await rateOf(messages, () =>
      receive(transport, { addresses: [ours], group, concurrency: 1, batchSize }, messages),
    ),
  };
  for (const address of [ours, bare]) {
    await confirmed.deleteQueue(`${address}.${group}`);
    await confirmed.deleteExchange(address);
  }
  await confirmed.close();
  await receiving.close();
  return { sent, received };
}

async function queue(channel: Channel): Promise<string> {
  const address = `bench-${randomUUID()}`;
  await channel.assertExchange(address, 'topic');
  await channel.assertQueue(`${address}.${group}`, quorum);
  await channel.bindQueue(`${address}.${group}`, address, '#');
  return address;
}

/** The same guarantees: persistent, mandatory, confirmed, with as many in flight. */
function sendBare(
  channel: ConfirmChannel,
  address: string,
  messages: readonly OutgoingMessage[],
): Promise<void> {
  return new Promise((resolve, reject) => {
    let begun = 0;
    let done = 0;
    const next = (): void => {
      const message = messages[begun];
      if (message === undefined) return;
      begun += 1;
      const body = Buffer.from(message.payload);
      channel.publish(address, message.key ?? '', body, propertiesOf(message), (error) => {
        if (error !== null) reject(new Error('It was refused.'));
        done += 1;
        if (done === messages.length) resolve();
        else next();
      });
    };
    for (let n = 0; n < inFlight; n += 1) next();
  });
}

/** Receives messages, and acknowledges them once per batch. */
async function receiveBare(channel: Channel, name: string, messages: number): Promise<void> {
  let done = 0;
  await channel.prefetch(2 * batchSize);
  await new Promise<void>((resolve, reject) => {
    channel
      .consume(name, (message) => {
        if (message === null) return;
        if (message.properties.headers?.['ce_id'] === undefined) throw new Error('It is empty.');
        done += 1;
        if (done % batchSize === 0 || done === messages) channel.ack(message, true);
        if (done === messages) resolve();
      })
      .catch(reject);
  });
}
