import { Writable } from 'node:stream';
import pino from 'pino';
import { expect, test } from 'vitest';
import { relayTroubleLines } from '../../../src/app/trouble-lines.ts';

test('pino gets the facts of a problem as fields of its line, with its own level and time', () => {
  const lines: string[] = [];
  const stream = new Writable({
    write: (line, _encoding, done) => {
      lines.push(String(line));
      done();
    },
  });
  const report = relayTroubleLines(pino({ base: null }, stream));
  report({ type: 'error', during: 'look', error: new Error('no answer') });
  report({ type: 'messages-unconfirmed', topic: 'orders', count: 2 });

  const common = { component: 'temporal-outbox relay', time: expect.any(Number) };
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    {
      ...common,
      level: 40,
      event: 'error',
      during: 'look',
      error: 'Error: no answer',
      msg: 'look failed: Error: no answer',
    },
    {
      ...common,
      level: 50,
      event: 'messages-unconfirmed',
      topic: 'orders',
      count: 2,
      msg: '2 messages of orders failed: no receipt of the group came',
    },
  ]);
});
