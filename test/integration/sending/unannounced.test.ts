import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { send, sendBatch, type Topic, type Transaction, topic } from '../../../src/index.ts';
import { createTestDatabase } from '../../support/fixtures/database.ts';
import { byPg } from '../../support/fixtures/transaction-ways.ts';

type Sending = (tx: Transaction, to: Topic<number>) => Promise<unknown>;

/** Each is stored by another function of the database. */
const ways: readonly (readonly [name: string, sending: Sending])[] = [
  ['send', (tx, to) => send(tx, to, 1)],
  ['send-later', (tx, to) => send(tx, to, 1, { after: '1h' })],
  ['send-by-ref', (tx, to) => send(tx, to, 1, { ref: 'r', after: '1h' })],
  ['send-by-id', (tx, to) => send(tx, to, 1, { id: randomUUID() })],
  ['send-batch', (tx, to) => sendBatch(tx, to, [{ payload: 1 }, { payload: 2, key: 'k' }])],
  ['send-batch-by-ref', (tx, to) => sendBatch(tx, to, [{ payload: 1, ref: 'r' }, { payload: 2 }])],
];

test('an unannounced topic is warned of once, by every way to send, without an extra statement', {
  tags: ['misspelled-topic-warned-of'],
}, async (context) => {
  const made = await createTestDatabase();
  context.onTestFinished(() => made.drop());
  const warned: string[] = [];
  const hear = (warning: Error & { readonly code?: string }): void =>
    void warned.push(`${warning.code}: ${warning.message.split(': ', 1)[0]}`);
  process.on('warning', hear);
  context.onTestFinished(() => void process.off('warning', hear));
  const announced = topic('announced', z.number());
  await made.database.query(
    `insert into outbox.topic (name, transport, address, retry_ms) values ('announced', 'kafka', 'announced', '{}')`,
  );

  for (const [name, sending] of ways) {
    const misspelt = topic(name, z.number());
    let statements = 0;
    await byPg(made.database)(async (tx) => {
      const counting: Transaction = {
        $queryRawUnsafe: (text, ...values) => {
          statements += 1;
          return tx.$queryRawUnsafe(text, ...values);
        },
      };
      await sending(counting, announced);
      await sending(counting, misspelt);
      await sending(counting, misspelt).catch(() => undefined);
    });
    expect({ name, statements }).toEqual({ name, statements: 3 });
  }

  // Warnings are emitted before anything that is due later.
  await new Promise((resolve) => void setImmediate(resolve));
  expect(warned).toEqual(
    ways.map(([name]) => `OUTBOX_TOPIC_UNKNOWN: No relay has announced the topic "${name}"`),
  );
});
