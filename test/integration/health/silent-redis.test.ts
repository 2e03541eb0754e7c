// @module-tag apart
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { consumer } from '../../../src/app/consumer/consumer.ts';
import type { Transport } from '../../../src/brokers/transport.ts';
import type { RunningConsumer } from '../../../src/inbox/consumer-interface.ts';
import { redisList, redisStream } from '../../../src/transports.ts';
import { awake } from '../../support/fixtures/awake.ts';
import { ownDatabase } from '../../support/fixtures/database.ts';
import { numbered } from '../../support/fixtures/inbox-stage.ts';
import { ownRedis, redisAt } from '../../support/fixtures/own-redis.ts';
import { openPrisma } from '../../support/fixtures/prisma.ts';
import { failing, untilWell } from '../../support/fixtures/told-health.ts';
import { until } from '../../support/fixtures/until.ts';
import { freeze } from '../../support/processes/frozen-process.ts';

const kinds: readonly [string, (url: string) => Transport][] = [
  ['stream', (url) => redisStream({ url })],
  ['list', (url) => redisList({ url })],
];

/** A consumer of a Redis of its own, to which nothing is sent. */
async function idle(
  context: { onTestFinished(work: () => Promise<void>): void },
  transportAt: (url: string) => Transport,
) {
  const redis = await ownRedis();
  const made = await ownDatabase();
  const prisma = openPrisma(made.url);
  context.onTestFinished(() => prisma.$disconnect());
  const topic = numbered(`orders-${randomUUID()}`);
  const running: RunningConsumer = await consumer(prisma, {
    config: {
      database: { url: made.url },
      temporal: {},
      topics: [topic],
      transports: { kafka: transportAt(redis.url) },
    },
    group: 'billing',
    logger: false,
  })
    .on(topic, async () => undefined)
    .start();
  context.onTestFinished(() => running.stop());
  return { redis, running };
}

test.for(kinds)(
  'the health of a consumer of a %s names a Redis that does not answer after three seconds, until it answers',
  { tags: ['silent-broker-shown'] },
  async ([kind, transportAt], context) => {
    const { redis, running } = await idle(context, transportAt);
    const what = `redis-${kind} ${redis.url.slice('redis://'.length)}`;
    const pid = redis.node.pid ?? 0;
    await freeze(pid);
    const awakeMs = awake();

    await until(() => failing(running).length > 0, 60_000).finally(() => process.kill(pid, 'SIGCONT'));
    // A second for what the product does besides.
    expect(awakeMs()).toBeLessThan(4_000);
    expect(running.health().failing).toMatchObject([
      { what, error: { message: `${what} has not answered for 3 s.` } },
    ]);
    await untilWell(running);
    expect(running.health().joined).toBe(true);
  },
);

test.for(kinds)(
  'a consumer of a %s whose connections were cut is healthy again as soon as it reads',
  { tags: ['silent-broker-shown'] },
  async ([, transportAt], context) => {
    const { redis, running } = await idle(context, transportAt);
    const admin = await redisAt(redis.url);
    await admin.sendCommand(['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes']);

    await until(() => failing(running).length > 0);
    expect(running.health().joined).toBe(false);
    await untilWell(running, 10_000);
    expect(running.health().joined).toBe(true);
  },
);
