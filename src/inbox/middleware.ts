import { OutboxError } from '../core/errors.ts';
import type { InboxMessage } from './reading/inbox-message.ts';

/** What a middleware is told. */
export interface MiddlewareContext {
  /** Of the consumer. */
  readonly group: string;
  /**
   * The messages of the transaction, in their order, as their handlers get them. One, unless the consumer takes batches or
   * works off the queue of a parked key. Some may turn out to be handled already: the database is asked in the transaction.
   */
  readonly messages: readonly [InboxMessage<unknown>, ...InboxMessage<unknown>[]];
}

/**
 * Stands around the transaction of one or many messages: for a tenant, a trace, or what else handlers find in an
 * `AsyncLocalStorage`.
 *
 * It must call `next` once, which resolves when the transaction is committed and rejects when it is rolled back, and return
 * a promise that waits for it. What it rejects with is the failure of the messages, as if a handler had; it may turn the error
 * of `next` into `permanent(error)` or `retryAfter(error, delay)`. A failure behind `next` stays one, also where it is caught.
 * After `next` has resolved it is too late to fail: the messages are handled, and the next try finds that.
 *
 * @example consumer.use(({ messages: [message] }, next) => tenants.run(message.headers['tenant'], next));
 */
export type Middleware = (context: MiddlewareContext, next: () => Promise<void>) => Promise<unknown>;

/**
 * Does `work` once within all of these, the first of them outermost.
 *
 * @throws OutboxError `OUTBOX_MIDDLEWARE_BROKEN` when one did not call `next`, or twice; and what one of them, or `work`, throws
 */
export async function throughAll<Result>(
  middlewares: readonly Middleware[],
  context: MiddlewareContext,
  work: () => Promise<Result>,
): Promise<Result> {
  let done: { readonly result: Result } | undefined;
  const enter = async (place: number): Promise<void> => {
    const middleware = middlewares[place];
    if (middleware === undefined) {
      done = { result: await work() };
      return;
    }
    let inner: Promise<void> | undefined;
    try {
      await middleware(context, () => {
        if (inner !== undefined) return Promise.reject(broken(middleware, 'has called `next` twice'));
        inner = enter(place + 1);
        // Its failure is heard below, however late that is.
        inner.catch(() => undefined);
        return inner;
      });
    } finally {
      // One that does not wait must not have its message tried again while this try is still at work.
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
