import { expect, inject, test } from 'vitest';
import { consumer } from '../../src/app/consumer/consumer.ts';
import { operations } from '../../src/app/operations/operations.ts';
import { send } from '../../src/index.ts';
import { kafka } from '../../src/transports.ts';
import { openPrisma } from '../support/fixtures/prisma.ts';
import { numbered, openStage } from '../support/fixtures/stage.ts';
import { until } from '../support/fixtures/until.ts';
import { createTopic, observer } from '../support/kafka/kafka-topic.ts';

const count = 600;
const keys = 6;

interface Effect {
  readonly id: string;
  readonly n: number;
  readonly key: string;
  readonly original: string | null;
}

test('I1 I3 I4 F01: a relay killed in the middle of a replay over Kafka leaves one copy of each message, which the group handles once and in the order of its key', {
  tags: ['replay-once-in-order'],
}, async (context) => {
  const brokers = inject('kafkaBrokers');
  const orders = numbered(await createTopic(observer(brokers), { numPartitions: 3 }));
  const stage = await openStage(context, { topics: [orders] });
  await stage.database.query(
    'create table effect (seq bigserial, id text, n integer, key text, original text)',
  );
  const effects = (): Promise<readonly Effect[]> =>
    stage.database.query<Effect>('select id, n, key, original from effect order by seq');
  const transports = { only: kafka({ servers: brokers }) };
  const prisma = openPrisma(stage.url);
  context.onTestFinished(() => prisma.$disconnect());
  const victim = await stage.relayProcess({ brokers });
  const group = await consumer(prisma, {
    config: {
      temporal: { address: inject('temporalAddress') },
      topics: [orders],
      transports,
    },
    group: `replayed-${stage.installation}`,
    logger: false,
  })
    .on(orders, async (tx, { headers, id, key, payload }) => {
      await tx.$executeRaw`insert into effect (id, n, key, original)
        values (${id}, ${payload.n}, ${key}, ${headers['outbox-replay-of'] ?? null})`;
    })
    .start();
  context.onTestFinished(() => group.stop());
  await stage.commit(async (tx) => {
    for (let n = 0; n < count; n += 1) await send(tx, orders, { n }, { key: `k${n % keys}` });
  });
  await until(async () => (await effects()).length === count, 120_000);
  const at = operations({ database: { url: stage.url }, topics: [orders], transports });
  context.onTestFinished(() => at.close());

  const options = { actor: 'ada', reason: 'a test', ratePerSecond: 100 };
  const started = await at.bulk.start({ topic: orders.name }, { action: 'replay' }, options);
  const replay = () => at.bulk.show(started.id ?? '');
  await until(async () => (await replay()).answered > 50, 60_000);
  victim.signal('SIGKILL');
  await victim.exited;
  const left = await replay();
  expect(left).toMatchObject({ state: 'running', total: count, finishedAt: null });
  expect(left.answered).toBeLessThan(count);
  const next = await stage.relayProcess({ brokers });
  await until(async () => (await replay()).finishedAt !== null, 150_000);

  expect(await replay()).toMatchObject({ state: 'done', counts: { replayed: count } });
  const copies = await stage.database.query<{ original: string; copies: number }>(
    `select headers ->> 'outbox-replay-of' as original, count(*)::integer as copies from outbox.message_all
     where headers ? 'outbox-replay-of' group by 1`,
  );
  expect(copies).toHaveLength(count);
  expect(copies.filter((each) => each.copies !== 1)).toEqual([]);
  await until(async () => (await effects()).length >= 2 * count, 120_000);
  const all = await effects();
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
  const originals = new Set(all.filter(({ original }) => original === null).map(({ id }) => id));
  const handled = all.filter(({ original }) => original !== null);
  expect(new Set(handled.map(({ original }) => original))).toEqual(originals);
  for (let each = 0; each < keys; each += 1) {
    const numbers = handled.filter(({ key }) => key === `k${each}`).map(({ n }) => n);
    expect(numbers, next.timeline()).toEqual(numbers.toSorted((a, b) => a - b));
    expect(numbers).toHaveLength(count / keys);
  }
  const { invariants, records } = await at.verify();
  expect(invariants.filter(({ ok }) => !ok)).toEqual([]);
  expect(records).toBeGreaterThanOrEqual(2 * count);
});
