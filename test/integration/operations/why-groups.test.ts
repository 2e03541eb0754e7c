import { randomUUID } from 'node:crypto';
import { expect, inject, test } from 'vitest';
import { keepPresence } from '../../../src/app/relay/relay-presence.ts';
import { kafka } from '../../../src/brokers/kafka/transport/kafka-transport.ts';
import { type MessageDetails, operations } from '../../../src/operations.ts';
import { dropEnded, dropFailed } from '../../../src/store/inbox/ended.ts';
import { noteExpired } from '../../../src/store/inbox/processed.ts';
import { noteArrivals } from '../../../src/store/inbox/receive.ts';
import { verifyEffects } from '../../../src/store/verify/effects.ts';
import { type KeptFixture, keptFixture } from '../../support/fixtures/kept-fixture.ts';
import { ada } from '../../support/fixtures/operator.ts';
import { KafkaFixture } from '../../support/kafka/kafka-fixture.ts';

/** A group that its database knows. */
async function knownGroup(end: Parameters<typeof keptFixture>[0]): Promise<KeptFixture> {
  const inbox = await keptFixture(end);
  await inbox.database.query('insert into outbox.consumer_group values ($1, null, now())', [inbox.group]);
  return inbox;
}

/** What is told of a message that only the group of this database knows. */
async function ofGroup({ group, operator }: KeptFixture, id: string) {
  const details = await operator.show(id);
  const mine = (details?.timeline ?? []).filter(({ where }) => where === `group ${group}`);
  return { why: details?.why, told: mine.map(({ what, at }) => (at === null ? `${what} at no time` : what)) };
}

const endedBy = ({ group }: KeptFixture, how: string): MessageDetails['why'] => ({
  code: 'ended-by-group',
  text: `The outbox has no such message, but the group ${group} has ended it without an effect: ${how}.`,
});

test('a message that waits at Kafka for a group with its inbox elsewhere is behind the group, until that notes it', {
  tags: ['timeline-is-honest'],
}, async (end) => {
  const [world, inbox] = [await KafkaFixture.create(1), await keptFixture(end)];
  const { fixture, topic } = world;
  const transports = { scripted: kafka({ servers: inject('kafkaBrokers') }) };
  const groups = { [inbox.group]: { database: { url: inbox.url } } };
  const at = operations({ database: { url: fixture.url }, groups });
  const temporal = { server: 'Temporal', address: 'a:1', ask: async () => null };
  const config = { topics: [topic], transports, groups };
  const presence = keepPresence({
    database: fixture.database,
    config,
    temporal,
    asked: () => undefined,
    certificates: [],
  });
  end.onTestFinished(async () => {
    await presence.stop();
    await at.close();
    await transports.scripted.close();
    await world.end();
  });
  const admin = world.broker.admin();
  await admin.connect();
  const partitions = [{ partition: 0, offset: '0' }];
  await admin.setOffsets({ groupId: inbox.group, topic: world.address, partitions });
  await admin.disconnect();
  const id = await fixture.send('A', { key: 'K' });
  await fixture.send('B', { key: 'K' });
  await world.deliver();
  const why = async (): Promise<unknown> => (await at.show(id))?.why;

  await expect.poll(why, { timeout: 30_000 }).toEqual({
    code: 'group-behind',
    text: `It is published, but the group ${inbox.group} has not noted it: 2 of the topic "orders" wait for the group.`,
    next: 'temporal-outbox status',
  });

  await inbox.database.transaction((sql) =>
    noteArrivals(sql, inbox.group, [{ id, topic: 'orders', key: 'K' }]),
  );
  expect(await why()).toMatchObject({ code: 'handled' });
});

test('a message that had expired was ended by the group, without an effect', {
  tags: ['timeline-is-honest'],
}, async (end) => {
  const inbox = await knownGroup(end);
  const id = randomUUID();
  await inbox.database.transaction(async (sql) => {
    await noteArrivals(sql, inbox.group, [{ id, topic: 'orders', key: 'K' }]);
    await noteExpired(sql, inbox.group, [id]);
  });

  expect(await ofGroup(inbox, id)).toEqual({ why: endedBy(inbox, 'it had expired'), told: ['ended'] });
});

test('a discarded message was ended by the group, also when its row is removed, and when its id is gone', {
  tags: ['timeline-is-honest'],
}, async (end) => {
  const inbox = await knownGroup(end);
  const id = await keptUuid(inbox);
  await inbox.operator.inbox.discard({ group: inbox.group, ids: [id] }, ada);

  const discarded = await ofGroup(inbox, id);
  expect(discarded).toEqual({
    why: endedBy(inbox, 'an operator discarded it'),
    told: ['parked', 'operator', 'ended'],
  });

  await dropEnded(inbox.database, -60_000, null);
  const removed = await ofGroup(inbox, id);
  expect(removed).toEqual({
    why: endedBy(inbox, 'it was kept, and then removed'),
    told: ['parked', 'operator', 'ended at no time'],
  });

  // What the end of its window does.
  await inbox.database.query('delete from outbox.processed');
  const gone = await ofGroup(inbox, id);
  expect(gone).toEqual({
    why: {
      code: 'ended-by-group',
      text: 'The outbox has no such message; a group that had it has ended it, or dropped its id.',
    },
    told: ['operator', 'gap at no time'],
  });
});

test('a failed message that is removed had no effect, and a verification does not miss that', async (end) => {
  const inbox = await knownGroup(end);
  const id = await keptUuid(inbox);
  const effects = { group: inbox.group, query: 'select null::text as id, 0 as effects where false' };

  await dropFailed(inbox.database, { group: inbox.group, ageMs: -60_000, copied: false });

  expect((await ofGroup(inbox, id)).why).toEqual(endedBy(inbox, 'it was kept, and then removed'));
  const verified = await inbox.database.transaction((sql) => verifyEffects(sql, effects, null));
  expect(verified).toMatchObject({ checked: 1, violations: 0 });
});

/** Keeps a failed message whose id a sender could have given it. */
async function keptUuid(inbox: KeptFixture): Promise<string> {
  const label = await inbox.keep('A', { state: 'failed' });
  const id = randomUUID();
  for (const table of ['parked', 'processed'])
    await inbox.database.query(`update outbox.${table} set message_id = $1 where message_id = $2`, [
      id,
      label,
    ]);
  return id;
}
