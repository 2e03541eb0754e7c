import { expect, inject, test } from 'vitest';
import { storeMessages } from '../../src/store/message/write.ts';
import { proxiedDatabase } from '../support/faults/proxied-database.ts';
import { numbered, openStage } from '../support/fixtures/stage.ts';
import { until } from '../support/fixtures/until.ts';
import { startRelayProcess } from '../support/processes/relay-process.ts';

const orders = numbered('orders');
const heapMiB = 128;
const messages = 400;
/** Stored compressed, so that the backlog is large for the relay alone. */
const text = 'x'.repeat(800_000);

test('I1 I3 I13 F27: a relay whose heap is smaller than its backlog delivers all of it in order over a slow connection', {}, async (context) => {
  const stage = await openStage(context, { topics: [orders] });
  const { proxy, url } = await proxiedDatabase(context, stage.url, 27);
  const relay = await startRelayProcess({
    url,
    temporalAddress: inject('temporalAddress'),
    topics: [orders],
    heapMiB,
  });
  context.onTestFinished(() => relay.end());
  let ended = false;
  void relay.exited.then(() => (ended = true));
  proxy.inject({ kind: 'delay', ms: 20, jitterMs: 30 });
  for (let n = 0; n < messages; n += 20)
    await storeMessages(
      stage.database,
      'orders',
      Array.from({ length: 20 }, (_, m) => ({
        key: `k${m % 4}`,
        payload: JSON.stringify({ n: n + m, text }),
      })),
    );
  expect(messages * text.length).toBeGreaterThan(2 * heapMiB * 1024 * 1024);
  await until(async () => ended || (await stage.arrived()) >= messages, 180_000).catch(() => undefined);

  expect(ended, 'the relay has died').toBe(false);
  expect(proxy.fired('delay')).toBeGreaterThan(messages);
  const log = await stage.database.query<{ key: string; n: number }>(
    `select key, substring(payload from '"n":(\\d+)')::integer as n from published order by arrival`,
  );
  expect(log.map(({ n }) => n).toSorted((a, b) => a - b)).toEqual(
    Array.from({ length: messages }, (_, n) => n),
  );
  for (const key of ['k0', 'k1', 'k2', 'k3']) {
    const ofKey = log.filter((entry) => entry.key === key).map(({ n }) => n);
    expect(ofKey).toEqual(ofKey.toSorted((a, b) => a - b));
  }
});
