import { Console } from 'node:console';
import { Writable } from 'node:stream';
import { expect, test, vi } from 'vitest';
import { consumerTroubleLines, relayTroubleLines } from '../../../src/app/trouble-lines.ts';
import type { Logger } from '../../../src/config/logger.ts';
import { OutboxError } from '../../../src/core/errors.ts';
import { listening } from './listening.ts';

const place = { topic: 'orders', address: 'orders', partition: 0 };

test('a logger gets each problem of a consumer with its facts, and nothing that succeeds', () => {
  const { told, logger } = listening();
  const report = consumerTroubleLines('billing', logger);
  report?.({ type: 'handled', attempt: 1, id: 'm-1', offset: '1', ...place });
  report?.({ type: 'assigned', partitions: [] });
  report?.({
    type: 'disconnected',
    server: 'kafka',
    error: new Error('no broker\n    at connect (a.js:1:1)'),
    retryInMs: 200,
  });
  report?.({ type: 'parked', id: 'm-2', key: null, offset: '2', error: 'the bank is closed', ...place });
  report?.({ type: 'failed', id: 'm-3', reason: 'tries', error: undefined });

  const from = { component: 'temporal-outbox consumer', group: 'billing' };
  const message = 'receives nothing from kafka, and connects again: Error: no broker';
  expect(told).toEqual([
    [
      'warn',
      { ...from, event: 'disconnected', server: 'kafka', retryInMs: 200, error: 'Error: no broker' },
      message,
    ],
    [
      'warn',
      { ...from, event: 'parked', id: 'm-2', key: null, offset: '2', ...place, error: 'the bank is closed' },
      'message m-2 of orders is parked: the bank is closed',
    ],
    ['error', { ...from, event: 'failed', id: 'm-3', reason: 'tries' }, 'message m-3 has failed for good'],
  ]);
});

test.each([
  [false, 'message m-1 of orders has expired, and is not sent'],
  [true, 'message m-1 of orders has expired; an earlier try may have published it'],
])(
  'a message that ended at its expiry is a warning of the relay (published perhaps: %s)',
  (maybePublished, line) => {
    const { told, logger } = listening();
    const facts = { id: 'm-1', key: 'k', topic: 'orders', lane: 0, maybePublished };
    relayTroubleLines(logger)({ type: 'expired', ...facts });

    const from = { component: 'temporal-outbox relay', event: 'expired' };
    expect(told).toEqual([['warn', { ...from, ...facts }, line]]);
  },
);

test('an error of a handler is logged with the place where it was thrown, without frames of packages', () => {
  const { told, logger } = listening();
  const report = consumerTroubleLines('billing', logger);
  const readMeter = (): Error => new Error('meter 7 reads -1');
  const error = readMeter();
  error.stack = `${error.stack}\n    at run (/app/node_modules/prisma/run.js:1:1)\n    at node:internal/process:1:1`;
  report?.({ type: 'attempt-failed', attempt: 1, offset: '1', error, ...place });
  report?.({ type: 'failed', id: 'm-1', reason: 'tries', error: 'no error at all' });
  report?.({ type: 'disconnected', server: 'kafka', error, retryInMs: 200 });

  const stacks = told.map(([, facts]) => ('stack' in facts ? (facts.stack as readonly string[]) : undefined));
  expect(stacks.map((stack) => stack?.[0])).toEqual([
    expect.stringMatching(/^readMeter .*trouble-lines\.test\.ts:\d+:\d+/) as string,
    undefined,
    undefined,
  ]);
  expect(stacks[0]?.filter((frame) => /node_modules|node:/.test(frame))).toEqual([]);
});

test('an error of this library is logged with its code and the next step, and at error level if it is not temporary', () => {
  const { told, logger } = listening();
  const report = relayTroubleLines(logger);
  const away = new OutboxError('OUTBOX_SERVER_UNAVAILABLE', 'It is away.');
  const twice = new OutboxError('OUTBOX_INSTALLATION_TWICE', 'There are two.');
  report({ type: 'waiting-for-server', server: 'Temporal', address: 'here:1', error: away });
  report({ type: 'error', during: 'installation', error: twice });

  expect(told.map(([level, , message]) => [level, message])).toEqual([
    ['warn', 'waits for Temporal at here:1, and delivers without it meanwhile: OutboxError: It is away.'],
    ['error', 'installation failed: OutboxError: There are two.'],
  ]);
  expect(told.map(([, facts]) => facts)).toMatchObject([
    { server: 'Temporal', address: 'here:1', code: away.code, next: away.next },
    { during: 'installation', code: twice.code, next: twice.next },
  ]);
});

test('a pool that is too small is logged with the setting to write', () => {
  const { told, logger } = listening();
  consumerTroubleLines('orders', logger)?.({ type: 'pool-small', connections: 10, needed: 15 });

  expect(told).toMatchObject([
    [
      'warn',
      {
        connections: 10,
        needed: 15,
        next: expect.stringContaining('new PrismaPg({ connectionString, max: 15 })'),
      },
      'the pool has 10 connections, and 15 may be needed at once',
    ],
  ]);
});

test('without a logger each problem is one line of JSON on standard error', () => {
  const lines: string[] = [];
  const write = vi.spyOn(process.stderr, 'write').mockImplementation((line) => {
    lines.push(String(line));
    return true;
  });
  try {
    relayTroubleLines()({ type: 'error', during: 'look', error: new Error('two\nlines') });
  } finally {
    write.mockRestore();
  }

  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/^[^\n]+\n$/);
  expect(JSON.parse(lines[0] ?? '')).toEqual({
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    level: 'warn',
    component: 'temporal-outbox relay',
    event: 'error',
    during: 'look',
    error: 'Error: two lines',
    message: 'look failed: Error: two lines',
  });
});

test('console prints a problem in one line, however long', () => {
  const lines: string[] = [];
  const stderr = new Writable({
    write: (line, _encoding, done) => {
      lines.push(String(line));
      done();
    },
  });
  const error = new Error('a text that is longer than what console would show of an object in one line');
  relayTroubleLines(new Console(stderr, stderr))({ type: 'error', during: 'look', error });

  expect(lines).toHaveLength(1);
  const [, facts = '', message] =
    /^(\{.*\}) (look failed: Error: a text[^\n]*)\n$/.exec(lines[0] ?? '') ?? [];
  expect(JSON.parse(facts)).toMatchObject({ event: 'error', during: 'look' });
  expect(message).toContain(error.message);
});

test('errors of a logger are ignored, false logs nothing, and anything else is refused', () => {
  const broken: Logger = {
    warn: () => {
      throw new Error('the disk is full');
    },
    error: () => undefined,
  };
  const event = { type: 'error', during: 'look', error: new Error('no') } as const;
  expect(() => relayTroubleLines(broken)(event)).not.toThrow();
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    relayTroubleLines(false)(event);
    expect(consumerTroubleLines('billing', false)).toBeUndefined();
    expect(write).not.toHaveBeenCalled();
  } finally {
    write.mockRestore();
  }
  expect(() => relayTroubleLines({ warn: () => undefined } as unknown as Logger)).toThrow(
    expect.objectContaining({ code: 'OUTBOX_OPTION_INVALID', details: { option: 'logger' } }),
  );
});

test('what a consumer logs as failing it also logs as going on again, with the time since when it had not', () => {
  const { told, logger } = listening();
  const report = consumerTroubleLines('billing', logger);
  const since = new Date('2026-11-28T13:05:18Z');
  const error = new Error('refused');
  report?.({ type: 'disconnected', server: 'kafka', error, retryInMs: 200 });
  report?.({ type: 'workflows-failing', error });
  report?.({ type: 'connection-resumed', server: 'kafka', since });
  report?.({ type: 'workflows-resumed', since });
  report?.({ type: 'partition-resumed', address: 'orders', partition: 0, offset: '7' });
  report?.({ type: 'address-resumed', address: 'orders', since });

  expect(told.slice(2).map(([, , message]) => message)).toEqual([
    'receives from kafka again, which was away since 2026-11-28T13:05:18.000Z',
    'Temporal runs workflows again, which it did not since 2026-11-28T13:05:18.000Z',
    'orders/0 goes on after offset 7',
    'receives from orders again, which was paused since 2026-11-28T13:05:18.000Z',
  ]);
});

test('a line of a consumer says of which message or place it is', () => {
  const { told, logger } = listening();
  const report = consumerTroubleLines('billing', logger);
  const error = 'closed';
  report?.({ type: 'attempt-failed', attempt: 1, offset: '7', error, address: 'orders', partition: 0 });
  report?.({ type: 'attempt-failed', attempt: 2, id: 'm-1', key: 'k', offset: '7', error, ...place });
  report?.({ type: 'partition-paused', attempt: 3, offset: '7', error, retryInMs: 100, ...place });
  report?.({ type: 'parked', id: 'm-1', key: 'k', offset: '7', error, ...place });
  report?.({ type: 'failed', id: 'm-2', reason: 'tries', error });

  expect(told[1]?.[1]).toMatchObject({ event: 'attempt-failed', id: 'm-1', topic: 'orders', key: 'k' });
  expect(told.map(([, , message]) => message)).toEqual([
    'try 1 of offset 7 of orders/0 failed: closed',
    'try 2 of message m-1 of orders failed: closed',
    'orders/0 waits at offset 7, after try 3: closed',
    'message m-1 of orders is parked: closed',
    'message m-2 has failed for good: closed',
  ]);
});
