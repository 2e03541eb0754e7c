import { randomUUID } from 'node:crypto';
import { expect, inject, onTestFinished, test } from 'vitest';
import { consumer } from '../../../../src/app/consumer/consumer.ts';
import { redisStream } from '../../../../src/transports.ts';
import { createTestDatabase } from '../../../support/fixtures/database.ts';
import { numbered, range, writeEffect } from '../../../support/fixtures/inbox-stage.ts';
import { ownRedis, redisAt } from '../../../support/fixtures/own-redis.ts';
import { openPrisma } from '../../../support/fixtures/prisma.ts';
import { until } from '../../../support/fixtures/until.ts';
import { transportAt } from '../../../support/processes/place.ts';
import { startProgram } from '../../../support/processes/program.ts';
import { publish } from '../publishing.ts';

const group = 'billing';

/** A database for the effects, and a stream that consumers of the group share. */
async function stage() {
  const redis = await ownRedis(['--appendfsync', 'always']);
  const place = { kind: 'redis-stream', url: redis.url, order: false } as const;
  const made = await createTestDatabase();
  onTestFinished(() => made.drop());
  await made.database.query('create table effect (seq bigserial, n int, part int, consumer text)');
  const topic = numbered(`orders-${randomUUID()}`);
  const { address } = topic.rules;
  const transport = redisStream({ url: redis.url });
  onTestFinished(() => transport.close());
  let sent = 0;
  return {
    address,
    client: await redisAt(redis.url),
    /** Sends the next messages of two keys. */
    send: async (count: number): Promise<number> => {
      const messages = range(sent + 1, sent + count).map((n) => {
        const id = randomUUID();
        const headers = { ce_id: id, ce_type: topic.name };
        return { id, key: `key-${n % 2}`, payload: JSON.stringify({ n }), headers };
      });
      const { outcomes } = await publish(transport, address, messages);
      expect(outcomes.every(({ kind }) => kind === 'acknowledged')).toBe(true);
      return (sent += count);
    },
    member: async (name: string) => {
      const prisma = openPrisma(made.url, { max: 5 });
      onTestFinished(() => prisma.$disconnect());
      const config = {
        database: { url: made.url },
        temporal: { address: inject('temporalAddress') },
        topics: [topic],
        transports: { only: transportAt(place) },
      };
      const running = await consumer(prisma, { config, group, batch: { size: 10 }, logger: false })
        .on(topic, (tx, message) => writeEffect(tx, name, message))
        .start();
      onTestFinished(() => running.stop());
      return running;
    },
    killed: (pass: number) =>
      startProgram('consumer-main', {
        url: made.url,
        place,
        address,
        group,
        name: 'killed',
        crash: { point: 'inbox:committed', pass },
      }).exited,
    effects: (): Promise<readonly { readonly n: number; readonly consumer: string }[]> =>
      made.database.query('select n, consumer from effect order by seq'),
  };
}

test('F17: several consumers share a stream of Redis, one dies with messages in hand, others join and leave: each effect occurs once', {
  tags: ['redis-stream-shared-without-order'],
}, async () => {
  const { address, client, effects, killed, member, send } = await stage();
  const first = await member('first');
  const second = await member('second');
  const ended: unknown[] = [];
  const dying = killed(3).then((signal) => ended.push(signal));
  // It joins and dies under load.
  let sent = 0;
  while (ended.length === 0) {
    sent = await send(20);
    await until(async () => ended.length > 0 || (await effects()).length > sent - 60);
  }
  await dying;
  expect(ended).toEqual(['SIGKILL']);
  const { pending } = await client.xPending(address, group);
  expect(pending).toBeGreaterThan(0);

  const third = await member('third');
  sent = await send(300);
  await first.stop();
  sent = await send(300);

  await until(
    async () => (await client.xPending(address, group)).pending === 0 && (await effects()).length >= sent,
    90_000,
  );
  const found = await effects();
  expect(found.map(({ n }) => n).toSorted((a, b) => a - b)).toEqual(range(1, sent));
  expect(new Set(found.map((row) => row.consumer))).toEqual(new Set(['first', 'second', 'third', 'killed']));
  // What the dead one had committed and not acknowledged came to another.
  expect(first.counts().duplicates + second.counts().duplicates + third.counts().duplicates).toBeGreaterThan(
    0,
  );
  await until(async () => (await client.xInfoConsumers(address, group)).length === 2);
});
