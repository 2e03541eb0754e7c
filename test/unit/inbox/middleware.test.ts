import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type Middleware, type MiddlewareContext, throughAll } from '../../../src/inbox/middleware.ts';

const message = {
  id: 'id-1',
  topic: 'orders',
  key: null,
  payload: {},
  headers: {},
  attempt: 1,
  sentAt: new Date(0),
  address: 'orders',
  partition: 0,
  offset: '0',
};
const context: MiddlewareContext = { group: 'shop', messages: [message] };
const broken = (text: string): unknown =>
  expect.objectContaining({ code: 'OUTBOX_MIDDLEWARE_BROKEN', message: expect.stringContaining(text) });
const done = async () => 'done';

test('without a middleware only the work is done', async () => {
  expect(await throughAll([], context, done)).toBe('done');
});

test('the result is that of the work, whatever middlewares return', async () => {
  const answering: Middleware = async (given, next) => {
    expect(given).toBe(context);
    await next();
    return 'mine';
  };

  expect(await throughAll([answering, answering], context, done)).toBe('done');
});

test('a middleware that does not call next is broken, and named', async () => {
  async function forgetful(): Promise<void> {}

  await expect(throughAll([forgetful], context, done)).rejects.toEqual(
    broken('"forgetful" has ended without'),
  );
});

test('a middleware that calls next twice is broken, and the work is done once', async () => {
  let times = 0;
  const eager: Middleware = async (_context, next) => {
    await next();
    await next();
  };

  const passing = throughAll([eager], context, async () => {
    times += 1;
  });

  await expect(passing).rejects.toEqual(broken('"eager" has called `next` twice'));
  expect(times).toBe(1);
});

test.for<[string, Middleware]>([
  ['catches it', (_context, next) => next().catch(() => undefined)],
  [
    'does not wait for it',
    async (_context, next) => {
      void next();
      // Longer than the work takes to fail.
      for (let n = 0; n < 5; n += 1) await turn();
    },
  ],
])(
  'a failure of next remains one where a middleware %s',
  { tags: ['middlewares-wrap-transactions'] },
  async ([, middleware]) => {
    const failing = throughAll([middleware], context, async () => {
      await turn();
      throw new Error('the account is closed');
    });

    await expect(failing).rejects.toThrow('the account is closed');
  },
);

test('a middleware that fails without waiting ends when its work has ended', async () => {
  let ended = false;
  const hasty: Middleware = async (_context, next) => {
    void next();
    throw new Error('hasty');
  };

  const failing = throughAll([hasty], context, async () => {
    await turn();
    ended = true;
  });

  await expect(failing).rejects.toThrow('hasty');
  expect(ended).toBe(true);
});
