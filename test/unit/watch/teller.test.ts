import { expect, test } from 'vitest';
import { AlertTeller } from '../../../src/watch/teller.ts';
import { soFar } from '../../support/fixtures/fake-time.ts';
import { ScriptedDatabase } from '../../support/fixtures/scripted-database.ts';
import { until } from '../../support/fixtures/until.ts';

const since = new Date();
const news = {
  rule: 'failed',
  subject: 'topic orders',
  figure: 1,
  text: '1 message has failed',
  next: 'Look.',
  since,
  overAt: null,
  known: false,
  news: '1',
};
const free = 'update outbox.alert_destination set leased_until';

test('a stop waits until the message under way is given up and its destination is free for another relay', async () => {
  const database = new ScriptedDatabase();
  database
    .on('from outbox.alert a', [news])
    .on('insert into outbox.alert_destination', [{ name: 'webhook' }]);
  database.on(free, []);
  let giveUp: (() => void) | undefined;
  const teller = new AlertTeller({
    database,
    destinations: [
      {
        name: 'webhook',
        tell: () =>
          new Promise((_resolve, reject) => {
            giveUp = () => reject(new Error('aborted'));
          }),
      },
    ],
    everyMs: 60_000,
    gapMs: 0,
    from: 'a shop',
    report: (event) => expect.unreachable(JSON.stringify(event)),
  });
  teller.start();
  await until(() => giveUp !== undefined);

  const stopped = soFar(teller.stop());
  await new Promise(setImmediate);
  expect(stopped.state, 'while the destination has not given up').toBe('open');
  expect(database.valuesOf(free)).toEqual([]);
  giveUp?.();
  await teller.stop();
  expect(database.valuesOf(free)).toHaveLength(1);
});
