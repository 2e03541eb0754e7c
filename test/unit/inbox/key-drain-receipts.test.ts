import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { gate } from '../../support/fixtures/gate.ts';
import { begun, DrainBench } from './drain-bench.ts';

test('a drain ends once the broker has stored the receipts of the handled messages', async () => {
  const [sending, storing] = [gate(), gate()];
  const bench = new DrainBench({
    stored: () => {
      sending.open();
      return storing.opened;
    },
    topicOptions: { confirm: { group: 'shop', receiptTimeout: '1h' } },
  }).begins([begun(1)]);
  let ended = false;
  const drain = bench.run().then((answer) => {
    ended = true;
    return answer;
  });
  await sending.opened;
  await turn();
  expect([bench.handled, ended]).toEqual([[1], false]);
  storing.open();

  expect(await drain).toEqual({ kind: 'drained' });
  expect(bench.receipts).toEqual([['id-1']]);
});
