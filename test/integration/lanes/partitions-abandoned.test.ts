import { expect, test } from 'vitest';
import { completeInBackground } from '../../../src/app/relay/unfinished-lanes.ts';
import type { RelayEvent } from '../../../src/relay/report.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { beginChange } from '../../../src/store/lane/lanes-change.ts';
import { readOpenChanges } from '../../../src/store/lane/topics.ts';
import { laneFixture } from '../../support/fixtures/lane-fixture.ts';
import { until } from '../../support/fixtures/until.ts';

test('a relay reports a change of partitions whose command was killed, and what completes it', {
  tags: ['abandoned-lanes-completed'],
}, async (context) => {
  const fixture = await laneFixture();
  context.onTestFinished(() => fixture.drop());
  await beginChange(fixture.database, { topic: 'orders', kind: 'partitions', wanted: 8 }, { actor: 'ann' });
  await fixture.database.query(`update outbox.topic_change set begun_at = now() - interval '1 hour'`);
  let looks = 0;
  const counting: Database = {
    ...fixture.database,
    query: (text, values, repeated) => {
      if (text.includes('from outbox.topic_change')) looks += 1;
      return fixture.database.query(text, values, repeated);
    },
  };
  const events: RelayEvent[] = [];
  const completing = completeInBackground(counting, ['orders'], (event) => events.push(event));
  context.onTestFinished(() => completing.stop());

  await until(() => events.length > 0 || looks > 1, 30_000);
  // A loop without a pause would have looked again by then.
  for (let turn = 0; turn < 20; turn += 1) await fixture.database.query('select 1');

  const partitions = ['temporal-outbox partitions orders 8 --group <groups>'];
  expect(events).toEqual([
    { type: 'topic-waiting', topic: 'orders', waitingFor: 'operator', who: partitions },
  ]);
  // There is nothing to wait for here: the next look is a look later.
  expect(looks).toBe(1);
  await fixture.database.query(`update outbox.topic_change set begun_at = now() - interval '60 s'`);
  expect(await readOpenChanges(fixture.database, ['orders'])).toEqual([]);
  const [change] = await fixture.database.query('select kind, wanted from outbox.topic_change');
  expect(change).toEqual({ kind: 'partitions', wanted: 8 });
});
