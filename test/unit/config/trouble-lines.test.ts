import { expect, test } from 'vitest';
import { consumerTroubleLines, relayTroubleLines } from '../../../src/config/trouble-lines.ts';

const place = { topic: 'orders', address: 'orders', partition: 0 };

test('each trouble of a consumer is one line, what goes well is none', () => {
  const lines: string[] = [];
  const report = consumerTroubleLines('billing', (line) => lines.push(line));
  report({ type: 'handled', attempt: 1, id: 'm-1', offset: '1', ...place });
  report({ type: 'assigned', partitions: [] });
  report({ type: 'disconnected', error: new Error('no broker\n    at connect (a.js:1:1)'), retryInMs: 200 });
  report({ type: 'parked', id: 'm-2', offset: '2', error: 'the bank is closed', ...place });

  expect(lines.map((line) => line.replace(/^\S+Z /, ''))).toEqual([
    'temporal-outbox consumer billing disconnected retryInMs=200: Error: no broker',
    'temporal-outbox consumer billing parked id=m-2 offset=2 topic=orders address=orders partition=0: the bank is closed',
  ]);
});

test('the same trouble is told once in five seconds', () => {
  const lines: string[] = [];
  const report = relayTroubleLines((line) => lines.push(line));
  for (let n = 0; n < 100; n += 1) report({ type: 'error', during: 'look', error: new Error(`port ${n}`) });
  report({ type: 'error', during: 'sweep', error: new Error('port 1') });
  report({ type: 'batch-settled', topic: 'orders', lane: 0, acknowledged: 1, exceptions: 0 });

  expect(lines.map((line) => line.replace(/^\S+Z /, ''))).toEqual([
    'temporal-outbox relay error during=look: Error: port 0',
    'temporal-outbox relay error during=sweep: Error: port 1',
  ]);
});

test('a pool that is too small is told with what to write', () => {
  const lines: string[] = [];
  consumerTroubleLines('orders', (line) => lines.push(line))({
    type: 'pool-small',
    connections: 10,
    needed: 15,
  });

  expect(lines[0]).toContain('consumer orders pool-small connections=10 needed=15: give the consumer');
  expect(lines[0]).toContain('new PrismaPg({ connectionString, max: 15 })');
});
