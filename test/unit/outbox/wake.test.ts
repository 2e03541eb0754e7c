import { expect, onTestFinished, test, vi } from 'vitest';
import { type Waker, wake } from '../../../src/outbox/wake.ts';
import { lanesOfNudge } from '../../../src/store/lane/nudge.ts';

/** Notes what it is asked to run. */
function listener(): {
  readonly run: (text: string, values: unknown[]) => Promise<[]>;
  readonly said: unknown[][];
} {
  const said: unknown[][] = [];
  return {
    said,
    run: async (text, values) => {
      said.push([text, ...values]);
      return [];
    },
  };
}

const ways: [name: string, of: (run: (text: string, values: unknown[]) => Promise<[]>) => Waker][] = [
  [
    'the client of Prisma',
    (run) => ({
      $connect: async () => undefined,
      $queryRawUnsafe: (text, ...values) => run(text, values) as Promise<never>,
    }),
  ],
  ['a pool', (run) => ({ query: run })],
  ['a function', (run) => run],
];

test.for(ways)('wake through %s makes relays look', ([, of]) => {
  const { run, said } = listener();
  expect(wake(of(run))).toBeUndefined();
  expect(said).toHaveLength(1);
  expect(said[0]?.[0]).toContain(`pg_notify('outbox', $1)`);
  expect(lanesOfNudge(String(said[0]?.[1]))).toEqual([]);
});

test('wake called a thousand times queries the database at once, and once more for later calls', () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'], now: 0 });
  onTestFinished(() => void vi.useRealTimers());
  vi.advanceTimersByTime(1_000);
  const { run, said } = listener();
  for (let n = 0; n < 1_000; n += 1) wake(run);
  expect(said).toHaveLength(1);
  vi.advanceTimersByTime(2);
  expect(said).toHaveLength(2);
});

test.for<[string, () => Promise<[]>]>([
  ['rejects', () => Promise.reject(new Error('no connection'))],
  [
    'throws',
    () => {
      throw new Error('the pool has ended');
    },
  ],
])('wake with a function that %s causes no unhandled rejection', async ([, run]) => {
  const unhandled = vi.fn();
  process.on('unhandledRejection', unhandled);
  onTestFinished(() => void process.off('unhandledRejection', unhandled));
  expect(wake(run)).toBeUndefined();
  await new Promise((resolve) => void setImmediate(resolve));
  expect(unhandled).not.toHaveBeenCalled();
});

test.for<[string, unknown]>([
  ['nothing', undefined],
  ['null', null],
  ['a string', 'postgres://'],
  ['an object without a query', {}],
  ['a transaction of Prisma', { $queryRawUnsafe: async () => [], $connect: undefined }],
  ['a transaction of a pool', { $queryRawUnsafe: async () => [], query: async () => [], connection: {} }],
  ['a connection of a pool', { query: async () => [], release: () => undefined }],
])('wake refuses %s', { tags: ['own-transactions-lose-no-time'] }, ([, through]) => {
  const refused = { code: 'OUTBOX_OPTION_INVALID', details: { option: 'through' } };
  expect(() => wake(through as Waker)).toThrow(expect.objectContaining(refused));
});
