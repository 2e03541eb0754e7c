import { expect, test } from 'vitest';
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

type Options = Readonly<Record<string, unknown>>;

/** What is needed besides the option that is tried. */
const makers: Readonly<Record<string, readonly [make: (options: never) => object, needed: Options]>> = {
  kafka: [kafka, { servers: 'a:1' }],
  rabbitmq: [rabbitmq, { url: 'amqp://a' }],
  rocketmq: [rocketmq, { servers: 'a:1' }],
  'redis-stream': [redisStream, { url: 'redis://a', replicas: 1 }],
  'redis-list': [redisList, { url: 'redis://a', replicas: 1 }],
  'redis-pub-sub': [redisPubSub, { url: 'redis://a' }],
  http: [http, { secret: `whsec_${Buffer.alloc(24).toString('base64')}` }],
  workflow: [workflow, { id: () => 'a', type: 'a', taskQueue: 'a' }],
};

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
  ['redis-stream', 'requestTimeout', [100, twoMinutes], [99, twoMinutes + 1]],
  ['redis-stream', 'maxLength', [1, Number.MAX_SAFE_INTEGER], [0, 1.5]],
  ['redis-stream', 'claimAfter', ['1s', '1 day'], [999, 86_400_001]],
  ['redis-stream', 'replicas', [0, 100], [-1, 101, 1.5]],
  ['redis-list', 'replicaTimeout', [10, '1 min'], [9, 60_001]],
  ['redis-pub-sub', 'requestTimeout', [100, twoMinutes], [99, twoMinutes + 1]],
  ['redis-pub-sub', 'requireReceivers', [true, false], [0, 'yes']],
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
    const [make, needed] = makers[maker] ?? [];
    const [outer = '', inner] = option.split('.');
    const made = (value: unknown): object | undefined =>
      make?.({ ...needed, [outer]: inner === undefined ? value : { [inner]: value } } as never);

    for (const value of taken) expect(made(value)).toMatchObject({ name: maker });
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
