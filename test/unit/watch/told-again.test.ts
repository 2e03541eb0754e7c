import { expect, test } from 'vitest';
import { z } from 'zod';
import { alertsOf } from '../../../src/app/relay/alerts.ts';
import { topic } from '../../../src/core/topic.ts';
import { quietFigures } from '../../support/fixtures/quiet-figures.ts';
import { ScriptedDatabase } from '../../support/fixtures/scripted-database.ts';
import { ScriptedBroker } from '../../support/kafka/scripted-broker.ts';

const noted = 'insert into outbox.alert as a';
const ended = 'update outbox.alert set over_at';

test('what goes on is told again after the time of the configuration, and is over after four readings', async () => {
  const database = new ScriptedDatabase();
  database.on('update outbox.figures set judged', [{ noted: '1' }]);
  for (const part of [noted, ended, 'update outbox.alert set calm', 'delete from outbox.alert'])
    database.on(part, []);
  const alerts = alertsOf(
    {
      database: { url: 'postgresql://nobody@127.0.0.1:1/none' },
      topics: [topic('orders', z.string())],
      transports: { scripted: new ScriptedBroker() },
      alerts: { again: '2 hours' },
    },
    { database, report: (event) => expect.unreachable(JSON.stringify(event)) },
  );

  await alerts?.seen({ figures: quietFigures, number: '1', agoMs: 0 });

  expect(database.valuesOf(noted)).toEqual([['[]', 7_200_000]]);
  expect(database.valuesOf(ended)).toEqual([[4]]);
});
