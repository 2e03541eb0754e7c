import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { startRelay } from 'temporal-outbox/relay';
import { type Fault, start, until } from './faults.ts';
import { addressOf, connect, connectRedis, type Kind, kinds, type Side, sides } from './kinds.ts';
import config from './outbox.config.ts';
import { send, sendByHand } from './senders.ts';
import { overflow, skippedByXread, skippedHere } from './slow-readers.ts';

const prisma = connect();
const redis = await connectRedis();
for await (const keys of redis.scanIterator({ MATCH: 'redis-compared:*' }))
  if (keys.length > 0) await redis.del(keys);
await redis.xGroupCreate(addressOf('by hand', 'stream'), 'g1', '0', { MKSTREAM: true });
const relay = startRelay(config, { logger: false });
await relay.ready;

// 1 to 49 are handled, 50 is in hand at the kill, 51 to 100 are sent while nobody consumes; and the same again.
await killedWith(50, 'before the effect 50');
await killedWith(150, 'before the acknowledgement 150');
const last = await startAll('none');
await sendAll(201, 300);
await until(
  async () => (await prisma.effect.count({ where: { number: 300 } })) === sides.length * kinds.length,
);
for (const child of last) child.kill('SIGTERM');
await Promise.all(last.map(ended));

const skipped = { byHand: await skippedByXread(redis), here: await skippedHere(prisma, redis) };
assert.deepEqual(skipped, { byHand: 18, here: 0 });
const subscriber = await overflow(redis);
assert.ok(subscriber.lost > 20);
await relay.stop();

const counted = Object.fromEntries(
  await Promise.all(sides.map(async (side) => [side, await outcomes(side)])),
);
assert.deepEqual(counted, {
  'by hand': {
    channel: { lost: 101, doubled: 0 },
    list: { lost: 1, doubled: 0 },
    stream: { lost: 0, doubled: 1 },
  },
  here: {
    channel: { lost: 1, doubled: 0 },
    list: { lost: 0, doubled: 0 },
    stream: { lost: 0, doubled: 0 },
  },
});
redis.destroy();
await prisma.$disconnect();
console.log(
  `redis-compared: 300 messages, consumer killed twice; ${sides.map(inWords).join('; ')}; XREAD $ skips ${skipped.byHand} of 20; ` +
    `a slow subscriber is cut off and loses ${subscriber.lost} of ${subscriber.sent} MB`,
);

/** Kills the consumers with a message in hand, and sends more while they are away. */
async function killedWith(number: number, fault: Fault): Promise<void> {
  const before = number === 50 ? 0 : 100;
  const children = await startAll(fault);
  await sendAll(before + 1, number - 1);
  await until(
    async () =>
      (await prisma.effect.count({ where: { number: number - 1 } })) === sides.length * kinds.length,
  );
  await Promise.all([sendAll(number, number), ...children.map(ended)]);
  const channels = sides.map((side) => addressOf(side, 'channel'));
  await until(async () =>
    Object.values(await redis.pubSubNumSub(channels)).every((count) => Number(count) === 0),
  );
  await sendAll(number + 1, before + 100);
}

function startAll(fault: Fault): Promise<ChildProcess[]> {
  return Promise.all([start('by-hand.ts', fault), start('here.ts', fault)]);
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

async function sendAll(first: number, last: number): Promise<void> {
  const numbers = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  await send(prisma, numbers);
  await sendByHand(redis, numbers);
}

async function outcomes(side: Side): Promise<Record<Kind, { lost: number; doubled: number }>> {
  const outcome = async (kind: Kind) => {
    const effects = await prisma.effect.findMany({ where: { side, kind } });
    const different = new Set(effects.map(({ number }) => number)).size;
    return { lost: 300 - different, doubled: effects.length - different };
  };
  return { channel: await outcome('channel'), list: await outcome('list'), stream: await outcome('stream') };
}

function inWords(side: Side): string {
  const words = kinds.map((kind) => {
    const { lost = 0, doubled = 0 } = counted[side]?.[kind] ?? {};
    if (lost + doubled === 0) return `${kind} 0 lost, 0 doubled`;
    return lost > 0 ? `${kind} ${lost} lost` : `${kind} ${doubled} doubled`;
  });
  return `${side}: ${words.join(', ')}`;
}
