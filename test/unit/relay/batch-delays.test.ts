import { expect, test } from 'vitest';
import { measureBatch, measuredOfBatch } from '../../../src/relay/batch-delays.ts';
import { claimedMessage, claimOf } from '../../support/fixtures/claimed-messages.ts';

const storedAt = Date.parse('2026-01-02T03:04:05.000Z');
const createdAt = new Date(storedAt).toISOString();
const acknowledged = { kind: 'acknowledged', partition: 0, offset: '1' } as const;
const rejected = { kind: 'rejected', error: 'no' } as const;

test('a message counts from its storing, one that had to wait from its due time, by the clock of the database', {
  tags: ['metrics-say-what-happened'],
}, () => {
  const messages = [
    claimedMessage(1, { createdAt }),
    claimedMessage(2, { createdAt, dueAtMs: storedAt + 900 }),
  ];
  const claim = claimOf(messages, { at: storedAt + 1_000 });
  expect(measureBatch(claim, [acknowledged, acknowledged], 20)).toEqual({
    delaysMs: [1_020],
    latenessMs: [120],
  });
});

test('what was not acknowledged, retried or sent again for its receipt does not count', () => {
  const messages = [
    claimedMessage(1, { createdAt }),
    claimedMessage(2, { createdAt, attempts: 1, dueAtMs: storedAt }),
    claimedMessage(3, { createdAt, resent: true }),
    claimedMessage(4, { createdAt, blocked: true }),
  ];
  const outcomes = [rejected, acknowledged, acknowledged, undefined];
  expect(measureBatch(claimOf(messages), outcomes, 0)).toEqual({ delaysMs: [], latenessMs: [] });
});

test('of a large batch some messages count, the first and others evenly spread; of a small one all', () => {
  const batch = (size: number) =>
    Array.from({ length: size }, (_, n) =>
      claimedMessage(n, { createdAt: new Date(storedAt + n).toISOString() }),
    );
  const delays = (size: number) =>
    measureBatch(
      claimOf(batch(size), { at: storedAt + 10_000 }),
      batch(size).map(() => acknowledged),
      0,
    ).delaysMs;
  expect(delays(measuredOfBatch)).toHaveLength(measuredOfBatch);
  expect(delays(1_600)).toEqual(Array.from({ length: measuredOfBatch }, (_, n) => 10_000 - n * 100));
});

test('no delay is negative, whatever the clocks of the sessions said', () => {
  const claim = claimOf([claimedMessage(1, { createdAt })], { at: storedAt - 5 });
  expect(measureBatch(claim, [acknowledged], 1).delaysMs).toEqual([0]);
});
