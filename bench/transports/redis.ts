import { createClient, RESP_TYPES } from '@redis/client';
import { startRedis } from '../../dev/servers/index.ts';
import { isReceiving } from '../../src/brokers/receiving-transport.ts';
import { envelopeText } from '../../src/brokers/redis/client/message-format.ts';
import { fieldsOf } from '../../src/brokers/redis/transport/stream-entry.ts';
import {
  type OutgoingMessage,
  type ReceivingTransport,
  redisList,
  redisPubSub,
  redisStream,
  type Transport,
} from '../../src/transports.ts';
import { overall } from '../workload.ts';
import { aMessage, rateOf, receive, send } from './broker-load.ts';
import type { Rates, TransportFigures, TransportSizes } from './transport-figures.ts';

const batchSize = 1_000;
const group = 'bench';

type Client = ReturnType<typeof client>;

/** One kind of queue, by the library and by the bare client. */
interface Kind {
  readonly name: string;
  readonly transport: Transport | ReceivingTransport;
  /** Sends a batch in order, and awaits the replies of the server. */
  readonly sendBare: (redis: Client, address: string, batch: readonly OutgoingMessage[]) => Promise<unknown>;
  /** Receives a batch and acknowledges it. @returns the number of messages */
  readonly receiveBare?: (redis: Client, address: string) => Promise<number>;
}

/** Measures streams, lists and channels on a separate server, whose append-only file is synced before each reply. */
export async function measureRedis({
  messages,
  rounds,
  tell,
}: TransportSizes): Promise<readonly TransportFigures[]> {
  const server = await startRedis({ env: process.env });
  const redis = client(server.url);
  await redis.connect();
  try {
    const figures: TransportFigures[] = [];
    for (const kind of kindsOf(server.url)) {
      const sent = { ours: [] as number[], bare: [] as number[] };
      const received = { ours: [] as number[], bare: [] as number[] };
      // The first round is the warm-up.
      for (let round = 0; round <= rounds; round += 1) {
        const one = await measureOnce(kind, redis, round === 0 ? 5 * batchSize : messages);
        await redis.flushAll();
        if (round === 0) continue;
        for (const by of ['ours', 'bare'] as const) {
          sent[by].push(one.sent[by]);
          received[by].push(one.received[by]);
        }
        tell(`${kind.name}, round ${round}: ${JSON.stringify(one)}`);
      }
      figures.push({
        name: kind.name,
        sent: ratesOf(sent),
        ...('source' in kind.transport && { received: ratesOf(received) }),
      });
      await kind.transport.close();
    }
    return figures;
  } finally {
    redis.destroy();
    await server.stop();
  }
}

function ratesOf({ ours, bare }: { readonly ours: number[]; readonly bare: number[] }): Rates {
  return { ours: overall(ours), bare: overall(bare) };
}

async function measureOnce(
  { name, receiveBare, sendBare, transport }: Kind,
  redis: Client,
  messages: number,
): Promise<{ readonly sent: Rates; readonly received: Rates }> {
  const batches = Array.from({ length: messages / batchSize }, () =>
    Array.from({ length: batchSize }, () => aMessage((id) => `order-${id.slice(0, 2)}`)),
  );
  const [ourAddress, bareAddress] = [`${name}-ours`, `${name}-bare`];
  const bare = await rateOf(messages, async () => {
    for (const batch of batches) await sendBare(redis, bareAddress, batch);
  });
  const ours = await rateOf(messages, () => send(transport, ourAddress, batches));
  const sent = { ours, bare };
  if (receiveBare === undefined || !isReceiving(transport)) return { sent, received: { ours: 0, bare: 0 } };
  const bareReceived = await rateOf(messages, async () => {
    for (let done = 0; done < messages; ) done += await receiveBare(redis, bareAddress);
  });
  const subscription = { addresses: [ourAddress], group, concurrency: 1, batchSize };
  const ourReceived = await rateOf(messages, () => receive(transport, subscription, messages));
  return { sent, received: { ours: ourReceived, bare: bareReceived } };
}

function kindsOf(url: string): readonly Kind[] {
  return [
    {
      name: 'redis-stream',
      transport: redisStream({ url }),
      sendBare: (redis, address, batch) =>
        Promise.all(batch.map((message) => redis.sendCommand(['XADD', address, '*', ...fieldsOf(message)]))),
      async receiveBare(redis, address) {
        await redis.xGroupCreate(address, group, '0').catch(() => undefined);
        const read = await redis
          .withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer })
          .sendCommand<readonly (readonly [stream: Buffer, entries: readonly [Buffer, Buffer[]][]])[]>([
            'XREADGROUP',
            'GROUP',
            group,
            'me',
            'COUNT',
            String(batchSize),
            'STREAMS',
            address,
            '>',
          ]);
        const ids = (read[0]?.[1] ?? []).map(([id]) => id.toString());
        await redis.xAck(address, group, ids);
        return ids.length;
      },
    },
    {
      name: 'redis-list',
      transport: redisList({ url }),
      sendBare: (redis, address, batch) => redis.rPush(address, batch.map(textOf)),
      async receiveBare(redis, address) {
        const open = `${address}-open`;
        const moved = await Promise.all(
          Array.from({ length: batchSize }, () => redis.lMove(address, open, 'LEFT', 'RIGHT')),
        );
        for (const text of moved) JSON.parse(text ?? '{}');
        await redis.lTrim(open, batchSize, -1);
        return moved.length;
      },
    },
    {
      name: 'redis-pub-sub',
      transport: redisPubSub({ url }),
      sendBare: (redis, address, batch) =>
        Promise.all(batch.map((message) => redis.publish(address, textOf(message)))),
    },
  ];
}

function textOf(message: OutgoingMessage): string {
  return envelopeText({ ...message, sentAtMs: Date.now() });
}

function client(url: string) {
  return createClient({ url, RESP: 2, maintNotifications: 'disabled', disableClientInfo: true });
}
