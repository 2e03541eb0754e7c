import { expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import type { PrismaClient } from '../../dev/generated/shop/client.ts';
import type { IncomingMessage } from '../../src/brokers/source.ts';
import {
  type Consumer,
  type ConsumerOptions,
  consumer,
  once,
  permanent,
  retryAfter,
} from '../../src/consumer.ts';
import { topic } from '../../src/core/topic.ts';
import type { InboxMessage } from '../../src/inbox/reading/inbox-message.ts';
import { fromQuery, type Transaction } from '../../src/store/database/transaction.ts';

declare const prisma: PrismaClient;
declare const options: ConsumerOptions;
const orderTimeout = topic(
  'order-timeout',
  z.object({ orderId: z.string(), at: z.string().transform((text) => new Date(text)) }),
);

/** Overloads as a client of Prisma has them, the one for arrays first. */
interface Overloaded {
  $transaction<P extends Promise<unknown>[]>(
    arg: [...P],
    options?: { isolationLevel?: 'ReadCommitted' | 'Serializable' },
  ): Promise<P>;
  $transaction<R>(
    fn: (client: Omit<Client, '$connect' | '$transaction'>) => Promise<R>,
    options?: { maxWait?: number; timeout?: number; isolationLevel?: 'ReadCommitted' | 'Serializable' },
  ): Promise<R>;
}
interface Client extends Overloaded, Pick<Transaction, '$queryRawUnsafe'> {
  $connect(): Promise<void>;
  readonly order: { cancel(id: string): Promise<void> };
}
declare const overloaded: Client;

test('a handler has the models of the generated client and the output of the schema', () => {
  consumer(prisma, options).on(orderTimeout, (tx, message) => {
    expectTypeOf(message.payload).toEqualTypeOf<{ orderId: string; at: Date }>();
    return tx.order.updateMany({ where: { id: message.payload.orderId }, data: { status: 'CANCELED' } });
  });
});

test('a field that the model does not have is refused', () => {
  consumer(prisma, options).on(orderTimeout, (tx) =>
    // @ts-expect-error no such field
    tx.order.updateMany({ where: { nothing: 1 }, data: { status: 'CANCELED' } }),
  );
});

test('a handler has the models of an extended client', () => {
  const extended = prisma.$extends({ model: { order: { first: () => 'first order' } } });
  consumer(extended, options).on(orderTimeout, (tx) => {
    expectTypeOf(tx.order.first()).toEqualTypeOf(extended.order.first());
    return tx.order.findMany();
  });
});

test('the transaction is inferred behind the overload for arrays', () => {
  const made = consumer(overloaded, options);
  expectTypeOf(made).toEqualTypeOf<Consumer<Omit<Client, '$connect' | '$transaction'>>>();
  made.on(orderTimeout, (tx, { payload }) => tx.order.cancel(payload.orderId));
});

test('handlers of several topics can be chained', () => {
  const other = topic('other', z.object({ n: z.number() }));
  consumer(prisma, options)
    .on(orderTimeout, async () => undefined)
    .on(other, async (_tx, { payload }) => expectTypeOf(payload).toEqualTypeOf<{ n: number }>());
});

test('a handler of many gets an array of the output of the schema', () => {
  consumer(prisma, options).onBatch(orderTimeout, (tx, messages) => {
    expectTypeOf(messages).toEqualTypeOf<readonly InboxMessage<{ orderId: string; at: Date }>[]>();
    return tx.order.updateMany({
      where: { id: { in: messages.map(({ payload }) => payload.orderId) } },
      data: { status: 'CANCELED' },
    });
  });
});

test('an id comes from the key, a header or a function of the message, and from nothing else', () => {
  const one = consumer(prisma, options);
  one.on(orderTimeout, async () => undefined, { id: 'key' });
  one.on(orderTimeout, async () => undefined, { id: { header: 'x-request-id' } });
  one.onBatch(orderTimeout, async () => undefined, {
    id: (message) => {
      expectTypeOf(message).toEqualTypeOf<IncomingMessage>();
      return message.offset;
    },
  });
  // @ts-expect-error no such source of an id
  one.on(orderTimeout, async () => undefined, { id: 'offset' });
  // @ts-expect-error an id is a text
  one.on(orderTimeout, async () => undefined, { id: (message) => message.partition });
  // @ts-expect-error an id must not be waited for: duplicates are dropped by it before anything else
  one.on(orderTimeout, async () => undefined, { id: async (message) => message.offset });
});

test('an upcaster gets unknown input, and the schema checks its result', () => {
  topic('versioned', z.object({ n: z.number() }), {
    version: 3,
    upcast: {
      1: (old) => {
        expectTypeOf(old).toBeUnknown();
        return { m: old };
      },
      2: () => 'not what the schema wants',
    },
  });
  // @ts-expect-error it must be looked at before it is used
  topic('versioned', z.object({ n: z.number() }), { version: 2, upcast: { 1: (old) => ({ n: old.m }) } });
});

test('the payload of a topic with older versions is that of the current one', () => {
  const versioned = topic('versioned', z.object({ n: z.number().default(0) }), {
    version: 2,
    upcast: { 1: () => ({}) },
  });
  consumer(prisma, options).on(versioned, async (_tx, { payload }) =>
    expectTypeOf(payload).toEqualTypeOf<{ n: number }>(),
  );
});

test('once returns the result of the work only if it was done', async () => {
  const tx = fromQuery(async () => []);
  const answer = await once(tx, 'web', 'id', async () => 42);
  if (!answer.duplicate) expectTypeOf(answer.result).toEqualTypeOf<number>();
  // @ts-expect-error a duplicate has no result
  else void answer.result;
});

test('once refuses the client itself', () => {
  // @ts-expect-error it is not a transaction
  void once(prisma, 'web', 'id', async () => 42);
});

test('a function that returns no promise is not a handler: nothing would await it', {
  tags: ['forgotten-promise-reported'],
}, () => {
  const one = consumer(prisma, options);
  const data = { status: 'CANCELED' } as const;
  // @ts-expect-error the return is forgotten, and a lazy promise never runs
  one.on(orderTimeout, (tx, { payload }) => {
    void tx.order.update({ where: { id: payload.orderId }, data });
  });
  // @ts-expect-error as above
  one.onBatch(orderTimeout, (tx) => {
    void tx.order.updateMany({ data });
  });
  // @ts-expect-error only one of its ways answers
  one.on(orderTimeout, (tx, { key }) => (key === null ? undefined : tx.order.updateMany({ data })));
  const tx = fromQuery(async () => []);
  // @ts-expect-error the same for work that is done once
  void once(tx, 'web', 'id', () => {
    void prisma.order.updateMany({ data });
  });
});

test('a handler has a signal, and delays of its own', () => {
  consumer(prisma, options)
    .on(
      orderTimeout,
      async (_tx, _message, context) => {
        expectTypeOf(context.signal).toEqualTypeOf<AbortSignal>();
      },
      { retry: ['1s', 2_000], quickRetries: [] },
    )
    .onBatch(topic('other', z.string()), async (_tx, _messages, { signal }) =>
      fetch('http://bank', { signal }),
    );
  // @ts-expect-error no duration
  consumer(prisma, options).on(orderTimeout, async () => undefined, { retry: ['soon'] });
});

test('a middleware gets at least one message of its transaction and must return a promise', () => {
  const one = consumer(prisma, options);
  one.use(({ group, messages: [message, ...others] }, next) => {
    expectTypeOf(group).toBeString();
    expectTypeOf(message).toEqualTypeOf<InboxMessage<unknown>>();
    expectTypeOf(others).toEqualTypeOf<InboxMessage<unknown>[]>();
    return next();
  });
  // @ts-expect-error nothing would await the transaction
  one.use((_context, next) => {
    void next();
  });
});

test('a verdict is an error, whatever was thrown', () => {
  expectTypeOf(permanent('no such account')).toEqualTypeOf<Error>();
  expectTypeOf(retryAfter(new Error('later'), '5m')).toEqualTypeOf<Error>();
  // @ts-expect-error no duration
  retryAfter(new Error('later'), 'five');
});
