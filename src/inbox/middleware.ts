import { OutboxError } from '../core/errors.ts';
import type { InboxMessage } from './reading/inbox-message.ts';

/** What a middleware receives. */
export interface MiddlewareContext {
  /** The consumer's group. */
  readonly group: string;
  /**
   * The messages of the transaction, in order, as their handlers get them. One, unless the consumer takes batches or
   * drains the queue of a parked key. Some may already have been handled: that is only checked within the transaction.
   */
  readonly messages: readonly [InboxMessage<unknown>, ...InboxMessage<unknown>[]];
}

/**
 * Wraps the transaction of one or many messages, for example to set a tenant or a trace in an `AsyncLocalStorage` that
 * handlers read.
 *
 * It must call `next` once and return a promise that waits for it. `next` resolves when the transaction is committed and
 * rejects when it is rolled back. If the middleware rejects, the messages have failed with that error, as if a handler had
 * thrown it; it may turn the error of `next` into `permanent(error)` or `retryAfter(error, delay)`. Catching the error of
 * `next` does not undo the failure. After `next` has resolved it is too late to fail: the messages are handled, and the
 * next try finds that out.
 *
 * @example consumer.use(({ messages: [message] }, next) => tenants.run(message.headers['tenant'], next));
 */
export type Middleware = (context: MiddlewareContext, next: () => Promise<void>) => Promise<unknown>;

/**
 * Does `work` once within all of these middlewares, the first one outermost.
 *
 * @throws OutboxError `OUTBOX_MIDDLEWARE_BROKEN` when one did not call `next`, or called it twice; and whatever one of
 * them, or `work`, throws
 */
export async function throughAll<Result>(
  middlewares: readonly Middleware[],
  context: MiddlewareContext,
  work: () => Promise<Result>,
): Promise<Result> {
  let done: { readonly result: Result } | undefined;
  const enter = async (index: number): Promise<void> => {
    const middleware = middlewares[index];
    if (middleware === undefined) {
      done = { result: await work() };
      return;
    }
    let inner: Promise<void> | undefined;
    try {
      await middleware(context, () => {
        if (inner !== undefined) return Promise.reject(broken(middleware, 'has called `next` twice'));
        inner = enter(index + 1);
        // Its failure is awaited below, possibly late: not an unhandled rejection.
        inner.catch(() => undefined);
        return inner;
      });
    } finally {
      // A middleware may end without waiting for `next`; the message must not be retried while this try still runs.
      await inner?.catch(() => undefined);
    }
    if (inner === undefined) throw broken(middleware, 'has ended without calling `next`');
    await inner;
  };
  await enter(0);
  if (done === undefined) throw new TypeError('The work was not done.');
  return done.result;
}

function broken({ name }: Middleware, what: string): OutboxError {
  const middleware = name === '' ? 'A middleware' : `The middleware "${name}"`;
  return new OutboxError('OUTBOX_MIDDLEWARE_BROKEN', `${middleware} ${what}.`, { details: { name } });
}
