// @module-tag apart
import { expect, test } from 'vitest';
import { adopt } from '../../../src/operations/delivery/adopt.ts';
import { operations } from '../../../src/operations.ts';
import { confirmMessages } from '../../../src/store/message/confirm.ts';
import { laneFixture } from '../../support/fixtures/lane-fixture.ts';
import { leafOf, leavesOf, turnLeaf, turnNoLeaves } from '../../support/fixtures/leaves.ts';
import { anotherCluster, movedFixture } from '../../support/fixtures/moved-fixture.ts';
import { ada } from '../../support/fixtures/operator.ts';

turnNoLeaves();

const elsewhere = anotherCluster();
const { ends } = elsewhere;

test('after adoption what the log had published is listed, replayed, dated and confirmed as before, and is not sent again', {
  tags: ['confirmed-was-processed'],
}, async () => {
  const fixture = await laneFixture();
  ends.push(() => fixture.drop());
  for (const label of ['passed', 'current']) {
    await fixture.send(label, { key: 'k', headers: { a: 'b' } });
    await fixture.drain();
    await turnLeaf(fixture.database);
    await turnLeaf(fixture.database);
  }
  await fixture.send('last');
  await fixture.drain();
  await fixture.send('open');
  const copy = await movedFixture(fixture, elsewhere.url, ends);
  for (const label of ['passed', 'current', 'last', 'open']) copy.know(label, fixture.idOf(label));
  const published = ['passed', 'current', 'last'].map((label) => copy.idOf(label));
  const dated = () =>
    copy.database.query(
      `select b.published_at, b.partition, b."offset" from unnest($1::uuid[]) with ordinality i (id, n)
         join outbox.message m using (id) cross join outbox.batch_facts(m.topic, m.lane, m.position) b order by i.n`,
      [published],
    );
  const before = await dated();
  expect(await leavesOf(copy.database)).toEqual(['log_1 log_passed', 'log_2 log_passed', 'log_3 log']);

  expect(await adopt(copy.database, { actor: 'test' })).toMatchObject({ settled: 3, ready: 1 });

  const operator = operations({ database: { url: copy.url } });
  ends.push(() => operator.close());
  const { messages } = await operator.list({ states: ['published'] });
  expect(messages.map(({ id }) => id)).toEqual(published.toReversed());
  expect(
    await operator.bulk.start({ topic: 'orders' }, { action: 'replay' }, { ...ada, dryRun: true }),
  ).toMatchObject({ count: 3 });
  expect(
    await copy.database.query(
      `select published_at, partition, "offset" from outbox.message_all where id = any($1::uuid[]) order by position`,
      [published],
    ),
  ).toEqual(before);
  for (const id of published) expect(await leafOf(copy.database, id)).toBe('message');
  expect(await leafOf(copy.database, copy.idOf('open'))).toBe('log_3');

  await copy.database.query(
    `update outbox.topic set confirm_group = 'g', receipt_timeout_ms = '{1000}', confirm_max_sends = 3`,
  );
  expect(await confirmMessages(copy.database, 'g', published.slice(0, 2))).toEqual({
    confirmed: [{ topic: 'orders', count: 2 }],
    locked: [],
  });
  await copy.drain();
  expect(copy.broker.labels).toEqual(['open']);
  expect(await copy.states('passed', 'current', 'last')).toEqual(['confirmed', 'confirmed', 'published']);
});

test('an adoption succeeds although a message is both beside the log and, published, in it', async () => {
  const fixture = await laneFixture();
  ends.push(() => fixture.drop());
  const first = await fixture.begin();
  const id = await fixture.send('first', {}, first);
  await fixture.send('again', { id });
  await first.commit();
  await fixture.drain();
  const copy = await movedFixture(fixture, elsewhere.url, ends);

  await adopt(copy.database, { actor: 'test' });

  expect(await copy.database.query('select state from outbox.message_all where id = $1', [id])).toEqual([
    { state: 'published' },
  ]);
});
