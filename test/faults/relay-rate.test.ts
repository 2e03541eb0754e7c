import { expect, test } from 'vitest';
import { send } from '../../src/outbox/send.ts';
import { judgeJournal } from '../support/fixtures/journal-check.ts';
import { numbered, openStage } from '../support/fixtures/stage.ts';
import { until } from '../support/fixtures/until.ts';

const total = 40;
const orders = numbered('orders', { rate: { messages: 10, per: '2s' } });

test('I1 I3 F02: what the rate has let go of a relay that dies before it sends is sent by the next one and counts twice', {
  tags: ['rate-kept'],
}, async (context) => {
  const stage = await openStage(context, { topics: [orders] });
  const committed = new Map<string, number[]>();
  const victim = await stage.relayProcess({ crash: { point: 'relay:claimed', pass: 2, signal: 'SIGKILL' } });
  await stage.commit(async (tx) => {
    for (let n = 0; n < total; n += 1) {
      const key = `k${n % 4}`;
      await send(tx, orders, { n }, { key });
      committed.set(key, [...(committed.get(key) ?? []), n]);
    }
  });
  await victim.exited;
  expect(await stage.arrived()).toBe(10);

  const beganAt = performance.now();
  await stage.relay();
  await until(async () => (await stage.arrived()) >= total, 90_000);

  // Of 30 messages, 10 had been let go for the dead relay: they need three more times.
  expect(performance.now() - beganAt).toBeGreaterThan(4_000);
  const verdict = judgeJournal(await stage.journal(), committed);
  expect(verdict).toMatchObject({ lost: [], ghosts: [], disordered: [], duplicates: 0 });
});
