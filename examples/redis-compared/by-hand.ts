import { meet, started } from './faults.ts';
import { addressOf, connect, connectRedis, type Kind } from './kinds.ts';

// The three ways as tutorials show them; the stream looks at its pending list first, which is its best case.

const prisma = connect();
const side = 'by hand';
const [list, channel, stream] = [
  addressOf(side, 'list'),
  addressOf(side, 'channel'),
  addressOf(side, 'stream'),
];
const [group, name] = ['g1', 'c1'];

const subscriber = await connectRedis();
await subscriber.subscribe(channel, (text) => handle('channel', text));
void popList();
void readStream();
started();

async function popList(): Promise<void> {
  const redis = await connectRedis();
  for (;;) {
    const popped = await redis.brPop(list, 1);
    if (popped !== null) await handle('list', popped.element);
  }
}

async function readStream(): Promise<void> {
  const redis = await connectRedis();
  for (let from = '0'; ; ) {
    const read = await redis.xReadGroup(group, name, { key: stream, id: from }, { COUNT: 1, BLOCK: 1000 });
    const [answer] = (read ?? []) as unknown as { messages: { id: string; message: { number: string } }[] }[];
    const [entry] = answer?.messages ?? [];
    if (entry === undefined) {
      from = '>';
      continue;
    }
    await handle('stream', entry.message.number);
    await redis.xAck(stream, group, entry.id);
  }
}

async function handle(kind: Kind, text: string): Promise<void> {
  const number = Number(text);
  await meet('before the effect', number);
  await prisma.effect.create({ data: { side, kind, number } });
  await meet('before the acknowledgement', number);
}
