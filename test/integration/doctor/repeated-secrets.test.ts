import { expect, inject, type TestContext, test } from 'vitest';
import { apiHandler } from '../../../src/api/handler.ts';
import { consumer } from '../../../src/app/consumer/consumer.ts';
import { operations } from '../../../src/app/operations/operations.ts';
import { startRelay } from '../../../src/app/relay/start-relay.ts';
import { print } from '../../../src/brokers/print/print-transport.ts';
import { explain } from '../../../src/cli/output.ts';
import type { Config } from '../../../src/config/config.ts';
import type { Topic } from '../../../src/core/topic.ts';
import { storeMessages } from '../../../src/store/message/write.ts';
import { repeatingBrokers, repeatingPostgres, saidBeside } from '../../support/faults/repeating-servers.ts';
import { ownDatabase } from '../../support/fixtures/database.ts';
import { openPrisma } from '../../support/fixtures/prisma.ts';
import { type Numbered, numbered } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';
import { byHeader, olga } from '../api/api-bench.ts';
import { examine, Told, tellHealth } from './told.ts';

/** What a relay that cannot send says, everywhere. */
async function tellRelay(
  context: TestContext,
  config: Config & { topics: readonly Topic<Numbered>[] },
  told: Told,
) {
  const made = await ownDatabase();
  const database = { url: made.url };
  const relay = startRelay({ ...config, database }, { logger: told.logger('log of the relay') });
  context.onTestFinished(() => relay.stop());
  await relay.ready;
  await storeMessages(made.database, 'orders', [{ payload: '{"n":1}' }]);
  const texts = async (): Promise<string> => {
    const rows = await made.database.query<{ readonly text: string }>(
      `select to_jsonb(l)::text as text from outbox.lane l union all select to_jsonb(m)::text from outbox.message m`,
    );
    return rows.map(({ text }) => text).join('\n');
  };
  await until(async () => (await texts()).includes(saidBeside));
  told.add('rows', await texts());
  await until(() => (told.texts.get('log of the relay') ?? '').includes(saidBeside));
  tellHealth(told, 'health of the relay', relay.health());
  const at = operations({ database });
  told.add('status', await at.status());
  await at.close();
  const api = apiHandler({ database }, { authentication: byHeader, logger: told.logger('log of the API') });
  context.onTestFinished(() => api.close());
  for (const path of ['/status', '/messages', '/health'])
    told.add(
      `API ${path}`,
      await (
        await api(new Request(`http://api.test${path}`, { headers: { 'x-test': JSON.stringify(olga) } }))
      ).text(),
    );
  return made;
}

test.for(Object.keys(repeatingBrokers))(
  '%s that repeats the credentials is quoted without them, wherever it is',
  { tags: ['secrets-stay-secret'] },
  async (broker, context) => {
    const { address, transport } = await (repeatingBrokers[broker] ?? expect.unreachable)();
    const told = new Told();
    const config = {
      database: { url: inject('databaseUrl') },
      temporal: { address: '127.0.0.1:1' },
      topics: [numbered('orders', { address, transport: broker })],
      transports: { [broker]: transport },
    };

    const { url } = await tellRelay(context, config, told);
    await examine({ ...config, database: { url } }, told);
    expect(told.leaks).toEqual([]);
    expect(told.telling).toEqual(expect.arrayContaining(['rows', 'log of the relay']));
    // Nothing is received by HTTP, and the scripted broker knows no groups.
    if (['http', 'kafka', 'kafka-token', 'workflow'].includes(broker)) return;

    const receiving = consumer(openPrisma(url), {
      config: { ...config, database: { url } },
      group: 'shop',
      logger: told.logger('log of the consumer'),
      startTimeout: '2s',
    });
    await receiving
      .on(numbered('orders', { address, transport: broker }), async () => undefined)
      .start()
      .catch((error: unknown) => {
        explain(error, told.output('start of the consumer'));
      });
    tellHealth(told, 'health of the consumer', receiving.health());
    await receiving.stop();
    expect(told.leaks).toEqual([]);
    expect(told.telling).toContain('start of the consumer');
  },
);

test('PostgreSQL, or what is in its place, is quoted without the password', {
  tags: ['secrets-stay-secret'],
}, async (context) => {
  const url = await repeatingPostgres();
  const told = new Told();
  const config = {
    database: { url },
    temporal: { address: '127.0.0.1:1' },
    topics: [numbered('orders')],
    transports: { print: print() },
  };
  await examine(config, told);
  const at = operations(config);
  await at.status().catch((error: unknown) => explain(error, told.output('status')));
  await at.close();
  const api = apiHandler(config, { authentication: byHeader, logger: told.logger('log of the API') });
  context.onTestFinished(() => api.close());
  const asked = new Request('http://api.test/status', { headers: { 'x-test': JSON.stringify(olga) } });
  told.add('API', await (await api(asked)).text());
  const relay = startRelay(config, { logger: told.logger('log of the relay') });
  context.onTestFinished(() => relay.stop());
  await relay.ready.catch((error: unknown) => explain(error, told.output('start of the relay')));
  tellHealth(told, 'health of the relay', relay.health());

  expect(told.leaks).toEqual([]);
  expect(told.telling).toEqual(
    expect.arrayContaining(['doctor', 'status', 'log of the API', 'start of the relay']),
  );
});
