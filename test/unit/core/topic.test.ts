import { expect, test } from 'vitest';
import { z } from 'zod';
import { type TopicOptions, topic } from '../../../src/core/topic.ts';

const schema = z.object({ orderId: z.string() });

test('a topic without options has the defaults', () => {
  expect(topic('order.placed_v1-a', schema)).toEqual({
    name: 'order.placed_v1-a',
    schema,
    rules: {
      transport: undefined,
      address: 'order.placed_v1-a',
      version: 1,
      upcast: new Map(),
      retryMs: [10_000, 30_000, 60_000, 120_000, 300_000],
      exhausted: 'release-key',
      lanes: 1,
      timer: 'workflow',
      horizonMs: 86_400_000,
      visible: true,
      payloadLimitBytes: 921_600,
      delayLimitMs: 34_560_000_000,
    },
  });
});

test('options replace the defaults, with durations as milliseconds', () => {
  const options: TopicOptions = {
    transport: 'http',
    address: 'https://example.test/hook',
    retry: [500, '1.5s'],
    exhausted: 'block-key',
    lanes: 1_024,
    timer: 'lane',
    horizon: '1h',
    visible: false,
    limits: { payloadBytes: 1, delay: '36500 days' },
  };
  expect(topic('t', schema, options).rules).toEqual({
    transport: 'http',
    address: 'https://example.test/hook',
    version: 1,
    upcast: new Map(),
    retryMs: [500, 1_500],
    exhausted: 'block-key',
    lanes: 1_024,
    timer: 'lane',
    horizonMs: 3_600_000,
    visible: false,
    payloadLimitBytes: 1,
    delayLimitMs: 3_153_600_000_000,
  });
  expect(topic('t', schema, { retry: [] }).rules.retryMs).toEqual([]);
});

test.each(['', 'a b', 'a/b', 'ä', 'a\n', 'x'.repeat(201)])('%j is not a valid name of a topic', (name) => {
  expect(() => topic(name, schema)).toThrow(
    expect.objectContaining({ code: 'OUTBOX_TOPIC_INVALID', details: { name } }),
  );
});

test.each<[string, unknown]>([
  ['JSON Schema', { type: 'object' }],
  ['nothing', undefined],
  ['null', null],
  ['a string', 'object'],
  ['a schema before that standard', { parse: () => 1, safeParse: () => 1 }],
  ['a standard without validate', { '~standard': { version: 1 } }],
])('%s is not a schema', { tags: ['arguments-refused-at-the-border'] }, (_what, given) => {
  expect(() => topic('t', given as typeof schema)).toThrow(
    expect.objectContaining({
      code: 'OUTBOX_OPTION_INVALID',
      message: expect.stringContaining('"schema" of the topic "t" must be a Standard Schema'),
      details: { topic: 't', option: 'schema' },
    }),
  );
});

test('a schema may be a function, as in arktype', () => {
  const callable = Object.assign(() => undefined, { '~standard': schema['~standard'] });
  expect(topic('t', callable).name).toBe('t');
});

test.each<[string, object]>([
  ['lanes', { lanes: 0 }],
  ['lanes', { lanes: 1_025 }],
  ['lanes', { lanes: 1.5 }],
  ['lanes', { lanes: '2' }],
  ['retry[1]', { retry: ['10s', 'later'] }],
  ['retry[0]', { retry: [0] }],
  ['exhausted', { exhausted: 'stop' }],
  ['timer', { timer: 'cron' }],
  ['horizon', { horizon: -1 }],
  ['horizon', { horizon: '36501 days' }],
  ['limits.payload', { limits: { payload: 1_000 } as never }],
  ['limits', { limits: '1 MB' as never }],
  ['confirm.groups', { confirm: { group: 'g', receiptTimeout: '1m', groups: ['g'] } as never }],
  ['limits.payloadBytes', { limits: { payloadBytes: 0 } }],
  ['limits.payloadBytes', { limits: { payloadBytes: 67_108_865 } }],
  ['limits.delay', { limits: { delay: '36501 days' } }],
  ['lane', { lane: 2 }],
])('the option "%s" of %j is refused by its name', (option, options) => {
  expect(() => topic('t', schema, options)).toThrow(
    expect.objectContaining({
      code: 'OUTBOX_OPTION_INVALID',
      details: expect.objectContaining({ topic: 't', option }),
    }),
  );
});
