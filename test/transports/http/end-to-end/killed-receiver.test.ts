import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../../../dev/servers/process/free-port.ts';
import { sendBatch } from '../../../../src/outbox/send.ts';
import { http } from '../../../../src/transports.ts';
import { openFaultStage } from '../../../support/faults/fault-stage.ts';
import { createTestDatabase } from '../../../support/fixtures/database.ts';
import { range } from '../../../support/fixtures/inbox-stage.ts';
import { numbered } from '../../../support/fixtures/stage.ts';
import { startHttpReceiver } from '../../../support/processes/http-receiver-process.ts';
import { secret } from '../http-endpoint.ts';

const keys = 3;
const count = 60;
const dieAtAnswer = 20;

test('each effect occurs once and in order, although the receiver is killed with an effect committed and nothing answered', async () => {
  const made = await createTestDatabase();
  onTestFinished(() => made.drop());
  await made.database.query('create table effect (seq bigserial, n int, consumer text)');
  const port = await freePort();
  const posted = numbered('deduct', {
    address: `http://127.0.0.1:${port}/deduct`,
    retry: Array.from({ length: 20 }, () => '100ms' as const),
  });
  const stage = openFaultStage(
    { onTestFinished },
    { url: made.url, topics: [posted], transport: () => http({ secret, allow: ['127.0.0.1'] }) },
  );
  const receives = { url: made.url, secret };
  const first = await startHttpReceiver({
    port,
    receives: { ...receives, name: 'killed', dieAtAnswer },
  });
  await stage.relay();
  const messages = range(1, count).map((n) => ({ payload: { n }, key: `key-${n % keys}` }));
  await stage.commit((tx) => sendBatch(tx, posted, messages));

  expect(await first.exited).toBe('SIGKILL');
  const committed = await made.database.query('select n from effect');
  // Messages of the other keys that arrived before may still be in hand.
  expect(committed.length).toBeGreaterThan(dieAtAnswer - keys);
  await startHttpReceiver({ port, receives: { ...receives, name: 'last' } });
  await stage.untilDone();

  const found = await made.database.query<{ readonly n: number; readonly consumer: string }>(
    'select n, consumer from effect order by seq',
  );
  expect(found.map(({ n }) => n).toSorted((a, b) => a - b)).toEqual(range(1, count));
  expect(new Set(found.map(({ consumer }) => consumer))).toEqual(new Set(['killed', 'last']));
  for (let key = 0; key < keys; key += 1) {
    const row = found.map(({ n }) => n).filter((n) => n % keys === key);
    expect(row).toEqual(row.toSorted((a, b) => a - b));
  }
});
