import { expect, test } from 'vitest';
import { z } from 'zod';
import { policyOf } from '../../../src/app/relay/topic-policy.ts';
import { topic } from '../../../src/core/topic.ts';
import { announceTopics } from '../../../src/operations/announce.ts';
import { withdrawMessages } from '../../../src/operations/messages/withdraw.ts';
import { setPaused } from '../../../src/store/lane/pause.ts';
import { makeLane } from '../../../src/store/message/withdraw.ts';
import { storeMessages } from '../../../src/store/message/write.ts';
import { afterCommits } from '../../support/faults/after-commits.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { ada, auditOf, type Operator, ownOperator } from '../../support/fixtures/operator.ts';

let fixture: LaneFixture;
let operator: Operator;
eachLane((made) => {
  fixture = made;
  operator = ownOperator(made);
});

const isPause = (texts: readonly string[]): boolean =>
  texts.some((text) => text.includes('set paused = true') && text.startsWith('update outbox.topic'));

/** Another process has every lane in hand for as long as the test takes. */
async function takeLanes(): Promise<void> {
  await fixture.database.query(
    `update outbox.lane set owner = gen_random_uuid(), incarnation = outbox.incarnation(), session = null,
       alive_until = clock_timestamp() + interval '15 seconds'`,
  );
}

async function pausedTopics(): Promise<readonly string[]> {
  const rows = await fixture.database.query<{ readonly name: string }>(
    'select name from outbox.topic where paused order by name',
  );
  return rows.map(({ name }) => name);
}

test('a topic whose pause was committed but not answered is resumed', {
  tags: ['withdrawal-leaves-no-pause'],
}, async () => {
  await fixture.send('A');
  await takeLanes();
  const database = afterCommits(fixture.database, (texts) => {
    if (isPause(texts)) throw new Error('The connection broke.');
  });

  const withdrawal = withdrawMessages(database, operator.of('A'), { ...ada, timeout: 60_000 });

  await expect(withdrawal).rejects.toThrow('The connection broke.');
  expect((await auditOf(fixture)).map(({ action, result }) => `${action} ${result}`)).toEqual([
    'pause done',
    'resume done',
  ]);
  expect(await pausedTopics()).toEqual([]);
});

test('a pause of somebody else is not ended by a withdrawal whose own pause was not answered', {
  tags: ['withdrawal-leaves-no-pause'],
}, async () => {
  await fixture.send('A');
  await takeLanes();
  await setPaused(fixture.database, { topic: 'orders' }, true, ada);
  const database = afterCommits(fixture.database, (texts) => {
    if (isPause(texts)) throw new Error('The connection broke.');
  });

  const withdrawal = withdrawMessages(database, operator.of('A'), { ...ada, timeout: 60_000 });

  await expect(withdrawal).rejects.toThrow('The connection broke.');
  expect(await pausedTopics()).toEqual(['orders']);
});

test('a topic that cannot be resumed does not keep the others paused', {
  tags: ['withdrawal-leaves-no-pause'],
}, async () => {
  const both = ['orders', 'returns'].map((name) => policyOf(topic(name, z.unknown()), 'scripted'));
  await announceTopics(fixture.database, both, {});
  const stored = await storeMessages(fixture.database, 'returns', [{ payload: '"B"' }]);
  const ids = [await fixture.send('A'), ...stored.map(({ id }) => id)];
  await makeLane(fixture.database, { topic: 'returns', lane: 0 });
  await takeLanes();
  let resumed = 0;
  const database = afterCommits(fixture.database, async (texts) => {
    if (isPause(texts))
      await fixture.database.query(
        'update outbox.lane l set owner = null from outbox.topic t where t.name = l.topic and t.paused',
      );
    if (!texts.some((text) => text.includes(`action = 'pause' and id > $2`))) return;
    resumed += 1;
    if (resumed === 1) throw new Error('The connection broke.');
  });

  const withdrawal = withdrawMessages(database, { ids }, { ...ada, timeout: 60_000 });

  await expect(withdrawal).rejects.toThrow('The connection broke.');
  expect(resumed).toBe(2);
  expect(await pausedTopics()).toEqual([]);
});
