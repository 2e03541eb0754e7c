import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { z } from 'zod';
import type { PrismaClient } from '../../../dev/generated/shop/client.ts';
import { consumer } from '../../../src/app/consumer/consumer.ts';
import { operations } from '../../../src/app/operations/operations.ts';
import { http } from '../../../src/brokers/http/transport/http-transport.ts';
import { kafka } from '../../../src/brokers/kafka/transport/kafka-transport.ts';
import { topic } from '../../../src/core/topic.ts';
import type { RunningConsumer } from '../../../src/inbox/consumer-interface.ts';
import { runCli } from '../../support/fixtures/cli.ts';
import { openPrisma } from '../../support/fixtures/prisma.ts';
import { until } from '../../support/fixtures/until.ts';
import { KafkaFixture } from '../../support/kafka/kafka-fixture.ts';

let world: KafkaFixture;
let prisma: PrismaClient;
let group: string;
let running: RunningConsumer | undefined;

beforeEach(async () => {
  world = await KafkaFixture.create(3);
  prisma = openPrisma(world.fixture.url);
  group = `group-${randomUUID()}`;
  await world.fixture.database.query('create table effect (id text)');
});

afterEach(async () => {
  await running?.stop();
  running = undefined;
  await prisma.$disconnect();
  await world.end();
});

async function start(): Promise<RunningConsumer> {
  running = await consumer(prisma, {
    config: { ...world.config, topics: [world.topic], transports: world.config.transports ?? {} },
    group,
    fromBeginning: true,
    logger: false,
  })
    .on(world.topic, async (tx, { id }) => void (await tx.$executeRaw`insert into effect values (${id})`))
    .start();
  return running;
}

async function stop(): Promise<void> {
  await running?.stop();
  running = undefined;
}

async function sendAndDeliver(...labels: readonly string[]): Promise<void> {
  for (const label of labels) await world.fixture.send(label, { key: label });
  await world.deliver();
}

async function effects(): Promise<readonly string[]> {
  const rows = await world.fixture.database.query<{ id: string }>('select id from effect order by id');
  return rows.map(({ id }) => id);
}

const idsOf = (labels: readonly string[]): readonly string[] =>
  labels.map((label) => world.fixture.idOf(label)).toSorted();

const before = Array.from({ length: 12 }, (_, n) => `before-${n}`);
const after = Array.from({ length: 12 }, (_, n) => `after-${n}`);

/** What a restore does to the inbox: ids and effects that were committed after the dump are gone, offsets of the broker are not. */
async function handledAndRestored(): Promise<Date> {
  await start();
  await sendAndDeliver(...before);
  await until(async () => (await effects()).length === before.length);
  const [dump] = await world.fixture.database.query<{ at: Date }>('select clock_timestamp() as at');
  await sendAndDeliver(...after);
  await until(async () => (await effects()).length === before.length + after.length);
  await stop();
  const lost = [...idsOf(after)];
  await world.fixture.database.query('delete from effect where id = any($1)', [lost]);
  await world.fixture.database.query('delete from outbox.processed where message_id = any($1)', [lost]);
  if (dump === undefined) throw new Error('There is no time.');
  return dump.at;
}

const query = 'select id, count(*) as effects from effect group by id';
const passed = async (): Promise<{ ok: boolean; ids: readonly string[] } | undefined> => {
  const { invariants } = await world.operations.verify({ grace: 0, effects: { group, query } });
  const found = invariants.find(({ invariant }) => invariant === 'I4 passed is handled');
  return found && { ok: found.ok, ids: found.first.map(({ id }) => id ?? '').toSorted() };
};

test('I4: effects that a restore has lost are named, and a rewind of the group has each of them once', {
  tags: ['restore-loses-nothing-unnoticed'],
}, async () => {
  const dump = await handledAndRestored();
  await start();
  await sendAndDeliver('later');
  await until(async () => (await effects()).includes(world.fixture.idOf('later')));
  // Without a rewind the broker delivers none of them again.
  expect(await passed()).toEqual({ ok: false, ids: idsOf(after) });

  await expect(world.operations.inbox.rewind(group, { to: dump, actor: 'ann' })).rejects.toMatchObject({
    code: 'OUTBOX_GROUP_IN_USE',
  });
  await stop();
  const { rewound } = await world.operations.inbox.rewind(group, {
    to: dump,
    actor: 'ann',
    reason: 'restore',
  });
  const back = rewound.flatMap(({ partitions }) =>
    partitions.map((one) => Number(one.before) - Number(one.after)),
  );
  expect(back.reduce((sum, one) => sum + one, 0)).toBe(after.length + 1);

  await start();
  await until(async () => (await effects()).length > before.length + 1 + after.length - 1);
  await until(async () => (await passed())?.ok === true);
  expect(await effects()).toEqual(idsOf([...before, ...after, 'later']));
  expect(
    await world.fixture.database.query(
      `select actor, reason, details ->> 'group' as "group", details ->> 'address' as address from outbox.audit where action = 'rewind'`,
    ),
  ).toEqual([{ actor: 'ann', reason: 'restore', group, address: world.address }]);
});

test('a rewind goes to a time and never forward, and a dry run goes nowhere', {
  tags: ['restore-loses-nothing-unnoticed'],
}, async () => {
  const dump = await handledAndRestored();
  const offsets = async (to: Date, dryRun: boolean): Promise<readonly (readonly [string, string])[]> => {
    const { rewound } = await world.operations.inbox.rewind(group, { to, dryRun, actor: 'ann' });
    return rewound.flatMap(({ partitions }) => partitions.map((one) => [one.before, one.after] as const));
  };
  const planned = await offsets(dump, true);
  expect(planned.some(([from, to]) => from !== to)).toBe(true);
  expect(await offsets(dump, false)).toEqual(planned);
  // Now it stands there, and a later time does not skip what it has not received.
  const there = planned.map(([, to]) => [to, to] as const);
  expect(await offsets(new Date(), false)).toEqual(there);
  expect(await offsets(new Date(0), true)).toEqual(planned.map(([, to]) => [to, '0'] as const));
  await expect(world.operations.inbox.rewind('nobody', { to: dump, actor: 'ann' })).rejects.toMatchObject({
    code: 'OUTBOX_GROUP_UNKNOWN',
  });
  await expect(
    world.operations.inbox.rewind(group, { to: new Date(Date.now() + 60_000), actor: 'ann' }),
  ).rejects.toMatchObject({ code: 'OUTBOX_OPTION_INVALID' });
});

test('brokers that keep no place by time are named, and where none does a rewind is refused', async () => {
  const dump = await handledAndRestored();
  const other = topic('elsewhere', z.unknown(), { transport: 'web' });
  const web = http({ secret: 'whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz' });
  const at = operations({
    ...world.config,
    topics: [world.topic, other],
    transports: { kafka: kafka({ servers: inject('kafkaBrokers') }), web },
  });
  const by = { to: dump, actor: 'ann', dryRun: true };
  expect(await at.inbox.rewind(group, by)).toMatchObject({ unable: ['http'] });
  // A replay of all would repeat every effect.
  await expect(at.inbox.rewind(group, { ...by, topics: ['elsewhere'] })).rejects.toMatchObject({
    code: 'OUTBOX_TRANSPORT_UNKNOWN',
    message: expect.stringContaining('"replay --id"'),
  });
  await at.close();
});

test('what a group received before it began, and forgot by its window, is no violation', async () => {
  await sendAndDeliver('early');
  await start();
  await sendAndDeliver('handled');
  await until(async () => (await effects()).length === 2);
  await world.fixture.database.query('delete from outbox.processed where message_id = $1', [
    world.fixture.idOf('early'),
  ]);
  expect(await passed()).toEqual({ ok: true, ids: [] });
});

test('the commands show what a rewind would do, do it, and judge a group without a query of effects', async () => {
  const dump = await handledAndRestored();
  const folder = await mkdtemp(path.join(import.meta.dirname, 'config-'));
  try {
    const config = path.join(folder, 'outbox.config.ts');
    await writeFile(
      config,
      `import { defineConfig, topic } from '${path.resolve('src/index.ts')}';
       import { kafka } from '${path.resolve('src/transports.ts')}';
       import { z } from 'zod';
       export default defineConfig({
         database: { url: '${world.fixture.url}' },
         topics: [topic('${world.topic.name}', z.unknown(), { address: '${world.address}' })],
         transports: { kafka: kafka({ servers: '${inject('kafkaBrokers')}' }) },
       });`,
    );
    const run = (...args: readonly string[]) => runCli([...args, '--config', config, '--json']);
    const to = ['--group', group, '--to', dump.toISOString()];
    const broken = await run('verify', '--group', group, '--grace', '0s');
    expect(broken.code).toBe(5);
    expect(JSON.parse(broken.stdout)).toMatchObject({
      invariants: expect.arrayContaining([
        expect.objectContaining({ invariant: 'I4 passed is handled', violations: after.length }),
      ]),
    });
    const dry = await run('inbox', 'rewind', ...to, '--dry-run');
    expect(JSON.parse(dry.stdout)).toMatchObject({ ok: true, dryRun: true, unable: [] });
    expect(await run('inbox', 'rewind', ...to)).toMatchObject({ code: 2 });
    const done = await run('inbox', 'rewind', ...to, '--yes');
    expect(JSON.parse(done.stdout)).toEqual({ ...JSON.parse(dry.stdout), dryRun: false });
  } finally {
    await rm(folder, { recursive: true });
  }
  await start();
  await until(async () => (await effects()).length === before.length + after.length);
});
