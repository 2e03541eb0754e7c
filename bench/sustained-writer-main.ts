import { sendBatch } from '../src/outbox/send.ts';
import { openDatabase } from '../src/store/database/pool.ts';
import { fromQuery } from '../src/store/database/transaction.ts';
import { body, bodyTopic } from './workload.ts';

/** Stores batches until its parent ends it, and rests while the parent says so. Arguments: address of the database, name of the topic. */
const [url = '', name = ''] = process.argv.slice(2);
const perBatch = 1_000;
const restMs = 20;

const database = openDatabase({ url, connections: 1 });
const target = bodyTopic(name, { lanes: 2 });
const told = { rest: false };
process.on('message', (message) => {
  told.rest = message === 'rest';
});
process.on('disconnect', () => process.exit());

for (let n = 0; ; n += perBatch) {
  while (told.rest) await new Promise((resolve) => setTimeout(resolve, restMs));
  const messages = Array.from({ length: perBatch }, (_, index) => ({
    payload: body,
    key: `key-${(n + index) % perBatch}`,
  }));
  await database.transaction((sql) =>
    sendBatch(
      fromQuery((text, values) => sql.query(text, values)),
      target,
      messages,
    ),
  );
}
