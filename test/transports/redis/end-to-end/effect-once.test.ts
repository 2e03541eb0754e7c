import { randomUUID } from 'node:crypto';
import { expect, inject, onTestFinished, test } from 'vitest';
import { consumer } from '../../../../src/config/consumer.ts';
import { sendBatch } from '../../../../src/outbox/send.ts';
import { openFaultStage } from '../../../support/faults/fault-stage.ts';
import { createTestDatabase } from '../../../support/fixtures/database.ts';
import { numbered, range, writeEffect } from '../../../support/fixtures/inbox-stage.ts';
import { ownRedis } from '../../../support/fixtures/own-redis.ts';
import { openPrisma } from '../../../support/fixtures/prisma.ts';
import { until } from '../../../support/fixtures/until.ts';
import {
  type RedisKind,
  redisTransport,
  runRedisConsumer,
} from '../../../support/processes/redis-consumer-process.ts';

const keys = 3;
const count = 60;

test.each<[kind: RedisKind, pass: number]>([
  ['stream', 7],
  ['list', 11],
])(
  'F17: over a %s each effect happens once and in order, although consumer and server die before the acknowledgement',
  async (kind, pass) => {
    const redis = await ownRedis(['--appendfsync', 'always']);
    const made = await createTestDatabase();
    onTestFinished(() => made.drop());
    await made.database.query('create table effect (seq bigserial, n int, part int, consumer text)');
    const address = `orders-${randomUUID()}`;
    const topic = numbered(address);
    const stage = openFaultStage(
      { onTestFinished },
      {
        url: made.url,
        topics: [topic],
        transport: () => redisTransport(kind, redis.url),
      },
    );
    await stage.relay();
    const group = 'billing';
    await stage.commit((tx) =>
      sendBatch(
        tx,
        topic,
        range(1, count).map((n) => ({ payload: { n }, key: `key-${n % keys}` })),
      ),
    );

    const crash = { point: 'inbox:committed', pass } as const;
    const ended = await runRedisConsumer({ url: made.url, redisUrl: redis.url, kind, address, group, crash });
    expect(ended).toBe('SIGKILL');
    await redis.node.stop('SIGKILL');
    await redis.node.start();
    const prisma = openPrisma(made.url, { max: 15 });
    onTestFinished(() => prisma.$disconnect());
    const last = await consumer(prisma, {
      config: {
        database: { url: made.url },
        temporal: { address: inject('temporalAddress') },
        topics: [topic],
        transports: { redis: redisTransport(kind, redis.url) },
      },
      group,
      keyConcurrency: 1,
      logger: false,
    })
      .on(topic, (tx, message) => writeEffect(tx, 'last', message))
      .start();
    onTestFinished(() => last.stop());

    const effects = (): Promise<readonly { readonly n: number; readonly consumer: string }[]> =>
      made.database.query('select n, consumer from effect order by seq');
    await until(async () => (await effects()).length >= count);
    await stage.untilDone();
    const found = await effects();
    expect(found.map(({ n }) => n).toSorted((a, b) => a - b)).toEqual(range(1, count));
    expect(new Set(found.map((row) => row.consumer))).toEqual(new Set(['killed', 'last']));
    for (let key = 0; key < keys; key += 1) {
      const row = found.map(({ n }) => n).filter((n) => n % keys === key);
      expect(row).toEqual(row.toSorted((a, b) => a - b));
    }
    // What was committed and not acknowledged came again.
    expect(last.counts().duplicates).toBeGreaterThan(0);
  },
);
