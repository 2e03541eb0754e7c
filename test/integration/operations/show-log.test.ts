import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { z } from 'zod';
import type { Caller } from '../../../src/api/authentication.ts';
import { apiHandler } from '../../../src/api/handler.ts';
import type { LogReader } from '../../../src/core/delivery-log.ts';
import { type OperationsConfig, operations } from '../../../src/operations.ts';
import { kafka } from '../../../src/transports.ts';
import { KafkaFixture } from '../../support/kafka/kafka-fixture.ts';
import { byHeader, rita, vera } from '../api/api-bench.ts';

const shape = z.object({ timeline: z.array(z.object({ what: z.string(), detail: z.string() })) });

function logReaderOf({ transports }: OperationsConfig): LogReader {
  const reader = transports?.['scripted']?.deliveryLog;
  if (reader === undefined) throw new Error('The transport has no log.');
  return reader;
}

let world: KafkaFixture;

beforeEach(async () => {
  world = await KafkaFixture.create(1);
});

afterEach(() => world.end());

/** What the timeline says right after the message was published. */
async function looked(id: string, at = world.operations): Promise<string> {
  const { timeline = [] } = (await at.show(id, { log: true })) ?? {};
  const next = timeline[timeline.findIndex(({ what }) => what === 'published') + 1];
  return next === undefined ? 'nothing' : `${next.what}: ${next.detail}`;
}

async function asAdmin(
  work: (admin: ReturnType<KafkaFixture['broker']['admin']>) => Promise<unknown>,
): Promise<void> {
  const admin = world.broker.admin();
  await admin.connect();
  try {
    await work(admin);
  } finally {
    await admin.disconnect();
  }
}

/** Deletes the topic and creates it with these partitions. */
async function createAgain(numPartitions: number): Promise<void> {
  const topic = world.address;
  await asAdmin((admin) => admin.deleteTopics({ topics: [topic] }));
  await asAdmin((admin) =>
    vi.waitFor(() => admin.createTopics({ topics: [{ topic, numPartitions }], waitForLeaders: true }), {
      timeout: 20_000,
    }),
  );
}

test('the log of Kafka says that a record is there, and that it is deleted', {
  tags: ['timeline-is-honest'],
}, async () => {
  const [first, second] = [await world.fixture.send('A'), await world.fixture.send('B')];
  const waiting = await world.fixture.send('C', { afterMs: 3_600_000 });
  await world.deliver();

  expect(await looked(second)).toBe('record: its record is in the log, at partition 0, offset 1');
  expect(await looked(waiting), 'of what is not published nothing is asked').toMatch(/^stored: /);
  const unasked = await world.operations.show(second);
  expect(unasked?.timeline.map(({ what }) => what)).not.toContain('record');

  const topic = world.address;
  await asAdmin(async (admin) => {
    // It must know the leader.
    await admin.fetchTopicOffsets(topic);
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '1' }] });
  });
  expect(await looked(first)).toBe(
    'record: its record, partition 0, offset 0, is deleted: the partition begins at offset 1',
  );
  expect(await looked(second)).toBe('record: its record is in the log, at partition 0, offset 1');
});

test('a topic that was created again ends before the record, or has another one in its place', {
  tags: ['timeline-is-honest'],
}, async () => {
  const [id, next] = [await world.fixture.send('A'), await world.fixture.send('B')];
  await world.deliver();
  await createAgain(1);

  expect(await looked(id)).toBe(
    'record: the log ends before its record, partition 0, offset 0: the topic was created again, or restored from an older state',
  );

  const other = await world.fixture.send('C');
  await world.deliver();
  expect(await looked(id)).toBe(
    `record: another record is at partition 0, offset 0, of ${other}: the topic was created again, or restored`,
  );
  expect(await looked(next)).toContain('record: the log ends before its record, partition 0, offset 1');
  expect(await looked(other)).toBe('record: its record is in the log, at partition 0, offset 0');
});

test('a log that cannot be asked is a gap, whether its broker is unknown or away', {
  tags: ['timeline-is-honest'],
}, async (end) => {
  const id = await world.fixture.send('A');
  await world.deliver();
  const database = { url: world.fixture.url };
  const away = kafka({ servers: '127.0.0.1:1' });
  const [none, dead] = [
    operations({ database }),
    operations({ database, topics: [world.topic], transports: { scripted: away } }),
  ];
  end.onTestFinished(async () => {
    await Promise.all([none.close(), dead.close()]);
    await away.close();
  });

  expect(await looked(id, none)).toBe('gap: The log of the topic "orders" cannot be read from here.');
  expect(await looked(id, dead)).toMatch(/^gap: Its log (?:cannot be read|does not answer within 10 s)/);
});

test('the HTTP API looks into the log for whoever sees the topic, and asks no broker for others', async (end) => {
  const id = await world.fixture.send('A');
  await world.deliver();
  const api = apiHandler(world.config, { authentication: byHeader });
  end.onTestFinished(() => api.close());
  const ask = (caller: Caller, path: string) =>
    api(new Request(`http://api.test${path}`, { headers: { 'x-test': JSON.stringify(caller) } }));

  const { timeline } = shape.parse(await (await ask(vera, `/messages/${id}/log`)).json());
  expect(timeline.find(({ what }) => what === 'record')?.detail).toBe(
    'its record is in the log, at partition 0, offset 0',
  );
  const without = shape.parse(await (await ask(vera, `/messages/${id}`)).json());
  expect(without.timeline.map(({ what }) => what)).not.toContain('record');

  const asked = vi.spyOn(logReaderOf(world.config), 'excerpt');
  expect((await ask(rita, `/messages/${id}/log`)).status).toBe(404);
  expect(asked).not.toHaveBeenCalled();
});

test('in a batch of several partitions the record is found by its id', async (end) => {
  const wide = await KafkaFixture.create(3);
  end.onTestFinished(() => wide.end());
  const ids = [];
  for (let n = 0; n < 12; n += 1) ids.push(await wide.fixture.send(`${n}`, { key: `k${n}` }));
  await wide.deliver();

  const told = [];
  for (const id of [ids[0], ids[11]]) told.push(await looked(id ?? '', wide.operations));
  expect(told).toEqual([
    expect.stringMatching(/^record: its record is in the log, at partition \d, offset \d$/),
    expect.stringMatching(/^record: its record is in the log, at partition \d, offset \d$/),
  ]);
});
