import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { migrateTopics } from '../../../src/app/relay/migrate-topics.ts';
import { memoryTransport } from '../../../src/brokers/memory/memory-transport.ts';
import { send, type Topic, type TopicOptions, topic } from '../../../src/index.ts';
import { createTestDatabase } from '../../support/fixtures/database.ts';
import { byPg } from '../../support/fixtures/transaction-ways.ts';

const withLimits = (limits: TopicOptions['limits']): Topic =>
  topic('orders', z.unknown(), { ...(limits && { limits }) });

test('raised limits apply once announced; until then a refusal names the limit in force and how to announce', async () => {
  const made = await createTestDatabase();
  onTestFinished(() => made.drop());
  const announce = (orders: Topic) =>
    migrateTopics({
      database: { url: made.url },
      temporal: {},
      topics: [orders],
      transports: { memory: memoryTransport() },
    });
  const run = byPg(made.database);
  const raised = withLimits({ payloadBytes: 1_000, delay: '2 days' });
  const large = (): Promise<unknown> => run((tx) => send(tx, raised, 'x'.repeat(500)));
  const late = (): Promise<unknown> => run((tx) => send(tx, raised, 'x', { after: '2 days' }));
  await announce(withLimits({ payloadBytes: 100, delay: '1 day' }));

  await expect(large()).rejects.toMatchObject({
    code: 'OUTBOX_PAYLOAD_TOO_LARGE',
    message: expect.stringContaining('100'),
    next: expect.stringMatching(/start a relay with it, or run `temporal-outbox migrate --topics`/),
  });
  await expect(late()).rejects.toMatchObject({
    code: 'OUTBOX_DELAY_OUT_OF_RANGE',
    message: expect.stringContaining('the database allows a delay of'),
    next: expect.stringMatching(
      /once a relay has started with it, or after `temporal-outbox migrate --topics`/,
    ),
  });

  await announce(raised);
  await large();
  await late();
});
