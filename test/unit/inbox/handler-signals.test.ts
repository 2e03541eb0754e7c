import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { HandlerContext } from '../../../src/inbox/handler.ts';
import { GivenUp, HandlerTransactions } from '../../../src/inbox/handling/handler-transactions.ts';
import { InboxTransactions } from '../../../src/inbox/inbox-transactions.ts';
import type { Transaction } from '../../../src/store/database/transaction.ts';
import { fakeTime, pass, realTime, soFar } from '../../support/fixtures/fake-time.ts';
import { gate } from '../../support/fixtures/gate.ts';
import { ScriptedClient } from '../../support/fixtures/scripted-client.ts';

beforeEach(fakeTime);
afterEach(realTime);

/** A handler in hand, of a transaction that may take a minute. */
async function stage({ asksAtOnce }: { readonly asksAtOnce: boolean }) {
  const [deadline, lost] = [new AbortController(), new AbortController()];
  const client = new InboxTransactions<Transaction>(new ScriptedClient().client, 60_000);
  const transactions = new HandlerTransactions({
    client,
    group: 'shop',
    middlewares: [],
    deadline: deadline.signal,
  });
  const { open: end, opened: ended } = gate();
  const contexts: HandlerContext[] = [];
  const run = soFar(
    transactions.run([], lost.signal, async (_tx, given) => {
      contexts.push(given);
      if (asksAtOnce) given.signal.throwIfAborted();
      await ended;
      return 'done';
    }),
  );
  await pass(0);
  const [context] = contexts;
  if (context === undefined) throw new Error('It has not begun.');
  return { context, deadline, end, lost, run, transactions };
}

const reasonOf = ({ signal }: HandlerContext) =>
  (signal.reason as { readonly message: string } | undefined)?.message ?? 'none';

test.each([true, false])(
  'a handler is signaled when its partition moves to another consumer (it has asked before: %s)',
  async (asksAtOnce) => {
    const { context, lost } = await stage({ asksAtOnce });
    lost.abort();
    expect(reasonOf(context)).toMatch('went to another consumer');
  },
);

test.each([true, false])(
  'a handler is signaled when its consumer stops (it has asked before: %s)',
  async (asksAtOnce) => {
    const { context, deadline } = await stage({ asksAtOnce });
    deadline.abort();
    expect(reasonOf(context)).toMatch('The consumer stops');
  },
);

test('a handler is signaled at the end of its time also if it asks late', async () => {
  const { context, end } = await stage({ asksAtOnce: false });
  await pass(59_000);
  const { signal } = context;
  await pass(999);
  expect(signal.aborted).toBe(false);
  await pass(1);
  expect(reasonOf(context)).toMatch('limit of 60 s');
  end();
});

test.each([true, false])(
  'of several reasons a handler gets the first (it has asked before: %s)',
  async (asksAtOnce) => {
    const { context, deadline, lost } = await stage({ asksAtOnce });
    deadline.abort();
    await pass(400);
    lost.abort();
    expect(reasonOf(context)).toMatch('The consumer stops');
  },
);

test('a transaction that has ended leaves no timer and no listener behind', async () => {
  const { end, lost, run } = await stage({ asksAtOnce: true });
  expect([vi.getTimerCount() > 0, getEventListeners(lost.signal, 'abort').length]).toEqual([true, 1]);
  end();
  await pass(0);

  expect(run.value).toBe('done');
  expect([vi.getTimerCount(), getEventListeners(lost.signal, 'abort').length]).toEqual([0, 0]);
});

test('a handler that continues is abandoned half a second after the deadline, which is the cause of its error', async () => {
  const { deadline, run, transactions } = await stage({ asksAtOnce: false });
  deadline.abort();
  await pass(499);
  expect([run.state, transactions.open]).toEqual(['open', 1]);
  await pass(1);

  expect(run.error).toBeInstanceOf(GivenUp);
  expect(run.error).toMatchObject({ cause: { code: 'OUTBOX_HANDLER_GIVEN_UP' } });
  expect(transactions.open).toBe(0);
});

test('a handler that ends within half a second after the deadline has its effects', async () => {
  const { deadline, end, run } = await stage({ asksAtOnce: false });
  deadline.abort();
  await pass(499);
  end();
  await pass(1_000);
  expect(run).toMatchObject({ state: 'resolved', value: 'done' });
});
