import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { redisFilter } from '../../../src/redis.ts';
import {
  http,
  kafka,
  rabbitmq,
  redisList,
  redisPubSub,
  redisStream,
  rocketmq,
  workflow,
} from '../../../src/transports.ts';

type Make = (options: never) => unknown;

/** Where an address, a password or both may be given by mistake. */
const secrets: readonly unknown[] = [
  's3cret',
  '',
  's3cret:',
  'sasl://user:s3cret@broker:9092',
  'redis://user:s3cret@host:port/x',
  'redis://user:s3cret@host/x',
  ['user:s3cret@host'],
  ['ok:1', 's3cret'],
  { password: 's3cret' },
  { s3: 's3cret', mechanism: 's3cret' },
  [{ password: 's3cret' }],
  () => 's3cret@host',
];

const server = { url: 'redis://h', tls: {}, credentials: { password: 's3cret' }, clientName: 'a' };
const replicas = { replicas: 1, replicaTimeout: '1s' };
/** Every option of each maker, with a value that will do. */
const makers: readonly (readonly [string, Make, Readonly<Record<string, unknown>>])[] = [
  [
    'kafka',
    kafka,
    {
      servers: 'a:1',
      clientId: 'a',
      tls: true,
      sasl: { mechanism: 'plain', username: 'u', password: 's3cret' },
      requestTimeout: '1s',
      consumers: {},
      'consumers.sessionTimeout': '10s',
      'consumers.rebalanceTimeout': '10s',
      'consumers.maxFetchBytes': 65_536,
      'consumers.maxPartitionBytes': 65_536,
    },
  ],
  [
    'rocketmq',
    rocketmq,
    {
      servers: 'a:1',
      accessKey: 'a',
      secretKey: 's3cret',
      namespace: 'n',
      tls: true,
      requestTimeout: '1s',
      tag: () => 'a',
      invisibleTime: '30s',
    },
  ],
  [
    'rabbitmq',
    rabbitmq,
    {
      url: 'amqp://user:s3cret@host',
      tls: {},
      requestTimeout: '1s',
      heartbeat: '5s',
      concurrency: 1,
      exchanges: {},
      queues: {},
      'queues.name': () => 'a',
      'queues.deliveryLimit': 1,
    },
  ],
  [
    'redisStream',
    redisStream,
    { ...server, requestTimeout: '1s', maxLength: 1, claimAfter: '1m', ...replicas },
  ],
  ['redisList', redisList, { ...server, requestTimeout: '1s', ...replicas }],
  ['redisPubSub', redisPubSub, { ...server, requestTimeout: '1s' }],
  [
    'redisFilter',
    redisFilter,
    { ...server, prefix: 'a', epoch: '1', keepFor: '1 day', requestTimeout: '50ms', report: () => undefined },
  ],
  [
    'http',
    http,
    {
      secret: `whsec_${Buffer.alloc(24, 's3cret').toString('base64')}`,
      headers: { authorization: 's3cret' },
      allow: ['10.0.0.0/8'],
      permanentStatuses: [422],
      concurrency: 1,
      requestTimeout: '1s',
      tls: {},
    },
  ],
  [
    'workflow',
    workflow,
    {
      id: () => 'a',
      type: 'a',
      taskQueue: 'a',
      signal: 'a',
      missing: 'fail',
      concurrency: 1,
      address: 'a:1',
      namespace: 'a',
      tls: true,
      apiKey: 's3cret',
    },
  ],
];

/** The options with one of them, which may be within another, replaced. */
function replaced(options: Readonly<Record<string, unknown>>, name: string, value: unknown): object {
  const plain = Object.fromEntries(Object.entries(options).filter(([one]) => !one.includes('.')));
  const [outer = '', inner] = name.split('.');
  return { ...plain, [outer]: inner === undefined ? value : { [inner]: value } };
}

for (const [maker, make, options] of makers)
  test.for(Object.keys(options))(`no error of ${maker}() about %s repeats a secret`, (name) => {
    const refusals = secrets.flatMap((value) => {
      try {
        make(replaced(options, name, value) as never);
        return [];
      } catch (error) {
        return [error];
      }
    });

    expect(refusals.length).toBeGreaterThan(0);
    for (const refusal of refusals) {
      expect(refusal).toMatchObject({ code: 'OUTBOX_OPTION_INVALID' });
      // With its stack, cause and details.
      expect(inspect(refusal, { depth: null, showHidden: true })).not.toContain('s3cret');
      expect(JSON.stringify(refusal)).not.toContain('s3cret');
    }
  });

test.for(makers)('%s() accepts each of its options', ([, make, options]) => {
  const plain = Object.fromEntries(Object.entries(options).filter(([name]) => !name.includes('.')));

  expect(() => make(plain as never)).not.toThrow();
});

const queues = (deliveryLimit: number): object => ({ deliveryLimit, deadLetterExchange: 'dead' });
const twoMinutes = 120_000;
const mib = 1_024 * 1_024;

/** The last values that are taken, and the first that are refused. */
const limits: readonly (readonly [
  maker: string,
  option: string,
  taken: readonly unknown[],
  refused: readonly unknown[],
])[] = [
  ['kafka', 'requestTimeout', [100, twoMinutes], [99, twoMinutes + 1]],
  ['kafka', 'consumers.sessionTimeout', ['6s', '30 min'], [5_999, 1_800_001]],
  ['kafka', 'consumers.rebalanceTimeout', ['6s', '60 min'], [5_999, 3_600_001]],
  ['kafka', 'consumers.maxFetchBytes', [65_536, 256 * mib], [65_535, 256 * mib + 1, 65_536.5]],
  ['kafka', 'consumers.maxPartitionBytes', [65_536, 256 * mib], [65_535, 256 * mib + 1, 65_536.5]],
  ['rabbitmq', 'requestTimeout', [100, twoMinutes], [99, twoMinutes + 1]],
  ['rabbitmq', 'heartbeat', ['1s', '1 min'], [0, 999, 1_500, 61_000]],
  ['rabbitmq', 'concurrency', [1, 10_000], [0, 10_001, 1.5]],
  ['rabbitmq', 'queues', [queues(1), queues(1_000_000)], [queues(0), queues(1_000_001), queues(1.5)]],
  ['rocketmq', 'requestTimeout', [100, twoMinutes], [99, twoMinutes + 1]],
  ['rocketmq', 'invisibleTime', ['10s', '12 h'], [9_999, 12 * 3_600_000 + 1]],
  ['redisStream', 'requestTimeout', [100, twoMinutes], [99, twoMinutes + 1]],
  ['redisStream', 'maxLength', [1, Number.MAX_SAFE_INTEGER], [0, 1.5]],
  ['redisStream', 'claimAfter', ['1s', '1 day'], [999, 86_400_001]],
  ['redisStream', 'replicas', [0, 100], [-1, 101, 1.5]],
  ['redisList', 'replicaTimeout', [10, '1 min'], [9, 60_001]],
  ['redisPubSub', 'requestTimeout', [100, twoMinutes], [99, twoMinutes + 1]],
  ['redisPubSub', 'requireReceivers', [true, false], [0, 'yes']],
  ['http', 'requestTimeout', [100, '15s'], [99, 15_001]],
  ['http', 'concurrency', [1, 1_000], [0, 1_001, 1.5]],
  ['http', 'permanentStatuses', [[], [400, 499]], [[399], [500], [429], [400.5], [409, 600]]],
  ['workflow', 'concurrency', [1, 1_000], [0, 1_001, 1.5]],
  ['workflow', 'missing', ['retry', 'fail'], ['ignore']],
];

test.each(limits)(
  '%s accepts values of %s within its limits and refuses others by the name of the option',
  (...given) => {
    const [maker, option, taken, refused] = given;
    const [, make, options] = makers.find(([name]) => name === maker) ?? [];
    const made = (value: unknown): unknown => make?.(replaced(options ?? {}, option, value) as never);

    for (const value of taken) expect(made(value)).toMatchObject({ publish: expect.any(Function) });
    for (const value of refused)
      expect(() => made(value), String(value)).toThrow(
        expect.objectContaining({
          code: 'OUTBOX_OPTION_INVALID',
          details: expect.objectContaining({
            // Of a list, its first wrong value is named.
            option: expect.stringMatching(
              option === 'queues' ? /^queues\.deliveryLimit$/ : new RegExp(`^${option}(?:\\[\\d\\])?$`),
            ),
          }),
        }),
      );
  },
);
