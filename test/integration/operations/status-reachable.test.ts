import { randomUUID } from 'node:crypto';
import { expect, inject, test } from 'vitest';
import { startRelay } from '../../../src/app/relay/start-relay.ts';
import { kafka } from '../../../src/brokers/kafka/transport/kafka-transport.ts';
import { showCommand } from '../../../src/cli/show-command.ts';
import { statusCommand } from '../../../src/cli/status-command.ts';
import { statusOf } from '../../../src/operations/delivery/status.ts';
import { writeRelay } from '../../../src/store/installation/relays.ts';
import { ownDatabase } from '../../support/fixtures/database.ts';
import { type LaneFixture, ownLane } from '../../support/fixtures/lane-fixture.ts';
import { numbered, quietTemporal } from '../../support/fixtures/stage.ts';
import { written } from '../../support/fixtures/written.ts';
import { createTopic, observer } from '../../support/kafka/kafka-topic.ts';

/** A relay's row, as it would write it. */
async function say(fixture: LaneFixture, id: string, error: string | null, clockOffsetMs = 0): Promise<void> {
  await writeRelay(fixture.database, {
    id,
    host: 'a-host-whose-name-is-longer-than-anybody-wants-to-read-it',
    pid: 4711,
    servers: [
      { server: 'Temporal', address: 'temporal.example:7233', error },
      { server: 'kafka', address: 'kafka.example:9092', error: null },
    ],
    lags: [{ group: 'billing', topic: 'orders', messages: 12 }],
    clockOffsetMs,
  });
}

test('status names the relay whose clock is off, and no other', async () => {
  const fixture = await ownLane();
  await say(fixture, randomUUID(), null, -300_000);
  await say(fixture, randomUUID(), null, 1_000);

  const { stdout } = await written((output) => statusCommand({ database: fixture.url }, output));

  const told = stdout.split('\n').filter((line) => line.includes('Clock of'));
  expect(told).toEqual([expect.stringMatching(/^ +Clock of a-host-.*: 5\.0 min behind the database's$/)]);
  expect(told[0]?.length).toBeLessThanOrEqual(80);
});

test('status and show distinguish a missing relay from an unreachable Temporal, and never call a lane with work quiet', {
  tags: ['unreachable-is-visible'],
}, async () => {
  const fixture = await ownLane();
  const looked = async () => {
    const [status, show] = await Promise.all([
      written((output) => statusCommand({ database: fixture.url }, output)),
      written((output) => showCommand(id, { database: fixture.url }, output)),
    ]);
    expect([status.code, show.code]).toEqual([0, 0]);
    const lines = status.stdout.split('\n').slice(3);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
    return { status: status.stdout, show: show.stdout };
  };
  const relay = randomUUID();
  const id = await fixture.send('due');
  const address = new URL(fixture.url).host;

  const none = await looked();
  expect(none.status).toMatch(
    new RegExp(
      `^PostgreSQL +answers at ${address}, .*\nRelays +none is running: nothing is delivered\nTemporal +unknown: no relay runs\n`,
    ),
  );
  expect(none.status).toMatch(/orders +0 +.* waits: no relay runs\n/);
  expect(none.status).not.toContain('quiet');
  expect(none.show).toContain('No relay is running: start one.');

  await say(fixture, relay, 'no answer within 4 s');
  const away = await looked();
  expect(away.status).toMatch(/\nRelays +1 running: a-host-whose-name-is-lo… \(pid 4711\)\n/);
  expect(away.status).toMatch(
    /\nTemporal +cannot be used at temporal\.example:7233: no answer within 4 s\n +Relays deliver without it; .*\nkafka +answers at kafka\.example:9092\n/,
  );
  expect(away.status).toContain('waits for a relay\n');
  expect(away.show).toContain('No relay drains its lane at the moment');

  await say(fixture, randomUUID(), null);
  const one = await looked();
  expect(one.status).toMatch(/\nTemporal +cannot be used by 1 of 2 relays at /);
  expect(one.status).toContain('waits for a relay\n');
  expect(one.show).toContain('No relay drains its lane at the moment');

  await fixture.database.query(`update outbox.relay set seen_at = clock_timestamp() - interval '16 s'`);
  const dead = await looked();
  expect(dead.status).toMatch(
    /\nRelays +none is running: nothing is delivered\n +2 relays are gone, the last one not seen for \d\d\.\d s: a-host\S* \(pid 4711\)\nTemporal/,
  );
  expect(dead.show).toContain('No relay is running: start one.');
  await fixture.drain();
  expect((await looked()).status).toMatch(/orders +0 .* quiet\n/);
});

test('a relay records that it runs, the servers that it reaches and the lag of groups, and removes the record when it stops', {
  tags: ['unreachable-is-visible'],
}, async (context) => {
  quietTemporal();
  const made = await ownDatabase();
  const address = await createTopic(observer(inject('kafkaBrokers')));
  const group = `group-${randomUUID()}`;
  const admin = observer(inject('kafkaBrokers')).admin();
  const producer = observer(inject('kafkaBrokers')).producer();
  await Promise.all([admin.connect(), producer.connect()]);
  await producer.send({ topic: address, messages: [{ value: '1' }, { value: '2' }, { value: '3' }] });
  await admin.setOffsets({ groupId: group, topic: address, partitions: [{ partition: 0, offset: '1' }] });
  await Promise.all([admin.disconnect(), producer.disconnect()]);
  await made.database.query(
    `insert into outbox.consumer_group (consumer_group, window_ms, seen_at) values ($1, 3600000, now())`,
    [group],
  );
  const relay = startRelay(
    {
      database: { url: made.url },
      temporal: { address: inject('temporalAddress') },
      topics: [numbered('here', { address }), numbered('nowhere', { address: 'no-such-topic' })],
      transports: { kafka: kafka({ servers: inject('kafkaBrokers') }) },
    },
    { report: () => undefined },
  );
  context.onTestFinished(() => relay.stop());
  await relay.ready;

  const told = async () => {
    const { relays, servers, lags } = await statusOf(made.database);
    return { relays: relays.map(({ pid, alive }) => ({ pid, alive })), servers, lags };
  };
  const answers = { relays: 1, answering: 1, error: null };
  await expect.poll(told, { timeout: 60_000 }).toEqual({
    relays: [{ pid: process.pid, alive: true }],
    servers: [
      { server: 'Temporal', address: inject('temporalAddress'), ...answers, lacks: null },
      {
        server: 'kafka',
        address: inject('kafkaBrokers'),
        ...answers,
        lacks: 'It has no topic no-such-topic: create it',
      },
    ],
    lags: [{ group, topic: 'here', messages: 2 }],
  });

  await relay.stop();
  expect((await statusOf(made.database)).relays).toEqual([]);
});
