import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import type { Middleware } from '../../../src/inbox/middleware.ts';
import { permanent } from '../../../src/inbox/verdict.ts';
import { type MemoryInbox, memoryInboxes } from '../../support/fixtures/memory-inbox.ts';
import { until } from '../../support/fixtures/until.ts';

const openInbox = memoryInboxes();
let inbox: MemoryInbox;
afterEach(() => inbox.leave());

const tenants = new AsyncLocalStorage<string | undefined>();

const ofTenant: Middleware = ({ messages: [message] }, next) => tenants.run(message.headers['tenant'], next);

test('handlers see what a middleware set around their transaction, in place and for parked messages', {
  tags: ['middlewares-wrap-transactions'],
}, async () => {
  inbox = await openInbox();
  const seen: (string | undefined)[] = [];
  const running = await inbox.consume({
    quickRetries: [1],
    retry: ['50ms', '50ms'],
    middlewares: [ofTenant],
    before: async () => {
      await turn();
      seen.push(tenants.getStore());
      if (seen.length <= 3) throw new Error('the bank is closed');
    },
  });
  inbox.feed({ n: 1, key: 'a', headers: { ce_id: 'id-1', ce_type: 'numbers', tenant: 'blue' } });

  await until(() => running.counts().handled === 1);

  // Twice in place, twice when it was parked.
  expect(seen).toEqual(['blue', 'blue', 'blue', 'blue']);
  expect(await inbox.effects()).toEqual([1]);
});

test('middlewares run once around each transaction, the first outermost, with all its messages', async () => {
  inbox = await openInbox();
  const steps: string[] = [];
  const around =
    (name: string): Middleware =>
    async ({ group, messages }, next) => {
      expect(group).toBe(inbox.group);
      steps.push(`${name} ${messages.map(({ id }) => id).join()}`);
      await next();
      steps.push(`${name} ends with ${(await inbox.effects()).join()}`);
    };
  inbox.feed({ n: 1, key: 'a' }, { n: 2, key: 'b' }, { n: 3, body: 'unreadable' });
  const running = await inbox.consume({
    batch: { size: 10 },
    inBatches: true,
    middlewares: [around('outer'), around('inner')],
    before: ({ id }) => void steps.push(`handler ${id}`),
  });

  await until(() => running.counts().handled === 2 && running.counts().failed === 1);

  expect(steps).toEqual([
    'outer id-1,id-2',
    'inner id-1,id-2',
    'handler id-1',
    'handler id-2',
    // They are reported when the transaction is committed.
    'inner ends with 1,2',
    'outer ends with 1,2',
  ]);
});

test('an error of a middleware fails its message, and may turn the error of the handler into a verdict', async () => {
  inbox = await openInbox();
  const running = await inbox.consume({
    quickRetries: [],
    retry: ['1h'],
    middlewares: [
      async ({ messages: [{ key }] }, next) => {
        if (key === 'stranger') throw new Error('nobody knows this tenant');
        await next().catch((error: unknown) => {
          if (key !== 'mild') throw permanent(error);
        });
      },
    ],
    before: ({ payload: { n } }) => {
      if (n > 1) throw new Error('the account is closed');
    },
  });
  inbox.feed({ n: 1, key: 'stranger' }, { n: 2, key: 'strict' }, { n: 3, key: 'mild' });

  await until(() => running.counts().parked === 2 && running.counts().failed === 1);

  expect(await inbox.effects()).toEqual([]);
  expect(await inbox.kept()).toMatchObject([
    { n: 1, state: 'parked', error: 'Error: nobody knows this tenant' },
    { n: 2, state: 'failed', reason: 'permanent', error: 'Error: the account is closed' },
    { n: 3, state: 'parked', error: 'Error: the account is closed' },
  ]);
});

test('a middleware that fails after the commit undoes nothing, and no effect is repeated', async () => {
  inbox = await openInbox();
  const running = await inbox.consume({
    quickRetries: [1],
    middlewares: [
      async (_context, next) => {
        await next();
        throw new Error('the collector of traces is away');
      },
    ],
  });
  inbox.feed({ n: 1, key: 'a' });

  await until(async () => (await running.status()).lag === 0);

  expect(await inbox.effects()).toEqual([1]);
  expect(await inbox.kept()).toEqual([]);
  expect(running.counts()).toMatchObject({ duplicates: 1, failedAttempts: 2 });
});
