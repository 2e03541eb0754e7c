import { expect, test } from 'vitest';
import { bulkWords, keyWords, laneWords, messageWords } from '../../../src/temporal/workflow-words.ts';

const now = Date.parse('2026-11-22T05:32:12.345Z');
const message = {
  id: 'b7a1',
  topic: 'order-timeout',
  key: 'customer-7',
  ref: 'order-42',
  visible: true,
  dueInMs: 900_000,
};

test('a waiting message is summarized by its topic, its names and its time', () => {
  const { staticSummary, staticDetails } = messageWords(message, now);
  expect(staticSummary).toBe('order-timeout, ref order-42, key customer-7, due 05:47:12Z');
  expect(staticDetails).toContain('- due: `2026-11-22T05:47:12.345Z, unless it was moved`');
  expect(staticDetails).toContain('`temporal-outbox show b7a1`');
  expect(messageWords({ ...message, dueInMs: 2 * 86_400_000 }, now).staticSummary).toContain(
    'due 2026-11-24T05:32:12Z',
  );
});

test('names of a topic that is not visible are left out', () => {
  const words = messageWords({ ...message, visible: false }, now);
  expect(words.staticSummary).toBe('order-timeout, due 05:47:12Z');
  expect(JSON.stringify(words)).not.toMatch(/order-42|customer-7/);
});

test('foreign names break neither the line nor the limit of a summary', () => {
  const key = `a\n\`b\u2028${'é'.repeat(200)}`;
  const { staticSummary, staticDetails } = messageWords(
    { ...message, topic: 't'.repeat(200), key, ref: 'ü'.repeat(128) },
    now,
  );
  expect(Buffer.byteLength(staticSummary)).toBeLessThanOrEqual(200);
  expect(staticSummary).not.toContain('\n');
  expect(staticDetails).toContain('- key: `a??b?éé');
  expect(staticDetails).not.toContain('\ufffd');
});

test('lanes, parked keys and bulk changes have a summary and where to look', () => {
  expect(laneWords({ topic: 'orders', lane: 3 })).toMatchObject({ staticSummary: 'orders, lane 3' });
  const parked = { topic: 'orders', key: 'k', group: 'billing', dueInMs: -5 };
  expect(keyWords(parked, now)).toMatchObject({
    staticSummary: 'orders, key k, parked by billing, next try 05:32:12Z',
    staticDetails: expect.stringContaining('`temporal-outbox inbox list --group billing`'),
  });
  expect(keyWords({ ...parked, key: null }, now).staticSummary).not.toContain('key');
  expect(bulkWords('op-1').staticDetails).toContain('`temporal-outbox bulk show op-1`');
});
