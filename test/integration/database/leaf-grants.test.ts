import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { openDatabase } from '../../../src/store/database/pool.ts';
import { storeMessages } from '../../../src/store/message/write.ts';
import { laneFixture } from '../../support/fixtures/lane-fixture.ts';
import { leafOf, turnLeaf, turnNoLeaves } from '../../support/fixtures/leaves.ts';

turnNoLeaves();

test('who may insert messages may send to a new leaf', async () => {
  const fixture = await laneFixture();
  const { database, topic, url } = fixture;
  const role = `sender_${randomUUID().slice(0, 8)}`;
  await database.query(`create role ${role} login password 'p'`);
  await database.query(`grant usage on schema outbox to ${role}`);
  await database.query(`grant usage on all sequences in schema outbox to ${role}`);
  await database.query(`grant select on outbox.topic, outbox.installation to ${role}`);
  await database.query(`grant insert on outbox.message to ${role}`);
  const asRole = new URL(url);
  asRole.username = role;
  asRole.password = 'p';
  const sender = openDatabase({ url: asRole.href });
  try {
    const send = () => storeMessages(sender, topic, [{ payload: '1' }]);
    await expect(send()).rejects.toThrow(/permission denied for table log_1/);
    await database.query('select outbox.grant_log()');
    expect(await send()).toHaveLength(1);
    await turnLeaf(database);
    const [stored] = await send();
    expect(await leafOf(database, stored?.id ?? '')).toBe('log_2');
    expect(await storeMessages(sender, topic, [{ payload: '1' }, { payload: '2' }])).toHaveLength(2);
  } finally {
    await sender.close();
    await database.query(`drop owned by ${role}`);
    await database.query(`drop role ${role}`);
    await fixture.drop();
  }
});
