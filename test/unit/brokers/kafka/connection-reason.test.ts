import { expect, test } from 'vitest';
import { connectionReason } from '../../../../src/brokers/kafka/transport/connection-reason.ts';

test('an error that is its own cause is told, and not followed for ever', () => {
  const inner = new Error('inner');
  const outer = new Error('outer', { cause: inner });
  inner.cause = outer;

  expect(connectionReason('kafka:9092', outer)).toMatch(/inner|outer/);
});

test('the innermost cause is told', () => {
  const cause = new AggregateError([new Error('connect ECONNREFUSED')], 'each address');

  expect(connectionReason('kafka:9092', new Error('outer', { cause }))).toContain('ECONNREFUSED');
});
