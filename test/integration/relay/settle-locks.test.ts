import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { releaseMessages } from '../../../src/store/message/release.ts';
import { cancelKey } from '../../../src/store/message/write.ts';
import { laneFixture } from '../../support/fixtures/lane-fixture.ts';
import { untilLockWaits } from '../../support/fixtures/lock-waits.ts';
import { until } from '../../support/fixtures/until.ts';

const key = 'k';

// A cancel keeps the lock of a message that became ready while it waited for it. If a settle locked its messages in another order, each
// could wait for the other.
test('a cancel of a key and a settle of its failures lock the messages in one order, and do not deadlock', {
  tags: ['cancel-holds'],
}, async () => {
  const fixture = await laneFixture({ timer: 'lane', retry: ['1h'] });
  onTestFinished(() => fixture.drop());
  const [first = '', second = '', third = ''] = [randomUUID(), randomUUID(), randomUUID()].toSorted();
  await fixture.send('third', { id: third, key, afterMs: 10 });
  await fixture.send('first', { id: first, key, afterMs: 20 });
  await fixture.send('second', { id: second, key, afterMs: 3_600_000 });
  await until(async () => {
    const due = await fixture.database.query('select from outbox.message where due_at <= outbox.clock()');
    return due.length === 2;
  });

  const release = await fixture.begin();
  await releaseMessages(release, [first, third]);
  const service = await fixture.begin();
  // Who looks first is ended.
  await service.query(`set local deadlock_timeout = '10ms'`);
  const cancel = async (): Promise<number> => {
    const canceled = await cancelKey(service, fixture.topic, key);
    await service.commit();
    return canceled;
  };
  const canceled = cancel();
  await untilLockWaits(fixture.database, 1);
  const business = await fixture.begin();
  await business.query('select from outbox.message where id = $1 for update', [second]);
  await release.commit();
  fixture.broker.judge = () => 'reject';
  const drained = fixture.drain();
  await untilLockWaits(fixture.database, 2);
  await business.rollback();

  expect(await Promise.all([canceled, drained])).toEqual([1, 'quiet']);
  expect(await fixture.states('third', 'first', 'second')).toEqual(['retrying', 'blocked', 'canceled']);
});
