import { expect, test } from 'vitest';
import { keepPresence } from '../../../src/app/relay/relay-presence.ts';
import { openDatabase } from '../../../src/store/database/pool.ts';
import { memoryBroker } from '../../../src/testing.ts';
import { ownPostgres } from '../../support/fixtures/own-postgres.ts';
import { numbered } from '../../support/fixtures/stage.ts';

test('a relay says whether the database answers it, while it does not and when it is back', {
  timeout: 180_000,
}, async (context) => {
  const server = await ownPostgres(context);
  const database = openDatabase({ url: server.url, connections: 2 });
  context.onTestFinished(() => database.close());
  const answers: boolean[] = [];
  const presence = keepPresence({
    database,
    config: { topics: [numbered('orders')], transports: { kafka: memoryBroker() } },
    temporal: { server: 'Temporal', address: 'a:1', ask: async () => null },
    certificates: () => [],
    asked: () => undefined,
    databaseAnswers: (up) => void answers.push(up),
  });
  context.onTestFinished(() => presence.stop());
  const untilLast = (up: boolean) => expect.poll(() => answers.at(-1), { timeout: 60_000 }).toBe(up);
  await untilLast(true);
  const frozen = await server.freeze();
  await untilLast(false);
  frozen.thaw();
  await untilLast(true);
});
