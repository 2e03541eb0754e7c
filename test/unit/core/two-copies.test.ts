import { expect, test, vi } from 'vitest';
import { noteCopy } from '../../../src/core/shared.ts';

/** The modules whose products another copy of the package may be given. */
async function loadCopy() {
  vi.resetModules();
  return {
    errors: await import('../../../src/core/errors.ts'),
    verdict: await import('../../../src/inbox/verdict.ts'),
    transaction: await import('../../../src/store/database/transaction.ts'),
    pool: await import('../../../src/store/database/pool-client.ts'),
    writes: await import('../../../src/store/database/pending-writes.ts'),
    ready: await import('../../../src/outbox/ready-lanes.ts'),
    refusals: await import('../../../src/inbox/reading/unreadable.ts'),
    nest: await import('../../../src/nestjs/on-message.ts'),
    topics: await import('../../../src/core/topic.ts'),
    clients: await import('../../../src/store/database/client.ts'),
  };
}

const a = await loadCopy();
const b = await loadCopy();
const schema = {
  '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
} as const;

test('the two are copies: a class of one is not that of the other', () => {
  expect(a.errors.OutboxError).not.toBe(b.errors.OutboxError);
});

test('a verdict of another copy counts, and is no part of the text', {
  tags: ['handler-has-last-word'],
}, () => {
  const error = new Error('no use');
  expect(a.verdict.verdictOf(b.verdict.permanent(error))).toEqual({ kind: 'permanent' });
  expect(a.verdict.verdictOf(b.verdict.retryAfter(error, '1s'))).toEqual({
    kind: 'retry-after',
    inMs: 1_000,
  });
  expect(a.verdict.withoutVerdict(b.verdict.permanent(error))).toBe(error);
});

test('an error of another copy is an OutboxError; another error, and an object with its name, are none', () => {
  const error = new b.errors.OutboxError('OUTBOX_STOPPED', 'It stops.');
  expect(error).toBeInstanceOf(a.errors.OutboxError);
  expect(new Error('x')).not.toBeInstanceOf(a.errors.OutboxError);
  expect({ name: 'OutboxError', code: 'OUTBOX_STOPPED' }).not.toBeInstanceOf(a.errors.OutboxError);
  expect(null).not.toBeInstanceOf(a.errors.OutboxError);
  class Own extends a.errors.OutboxError {}
  expect(error).not.toBeInstanceOf(Own);
  expect(new Own('OUTBOX_STOPPED', 'It stops.')).toBeInstanceOf(Own);
});

test('a query that another copy has wrapped is asked whether a transaction is open', async () => {
  const statements: string[] = [];
  const tx = b.transaction.fromQuery(async (text) => {
    statements.push(text);
    return [];
  });
  await a.transaction.sqlOf(tx).query('select 1');
  expect(statements).toEqual([expect.stringContaining('lock table'), 'select 1']);
});

test('a pool that another copy has wrapped is known, with its size', () => {
  const pool = {
    connect: vi.fn<() => never>(),
    query: vi.fn<() => never>(),
    on: vi.fn<() => void>(),
    options: { max: 7 },
  };
  const client = b.pool.clientOf(pool);
  expect(a.pool.isPoolClient(client)).toBe(true);
  expect(a.pool.connectionsOf(client)).toBe(7);
  expect(() => a.clients.assertClient('consumer', client)).not.toThrow();
});

test('a send of another copy that is not awaited fails the transaction, and its lane is woken', async () => {
  const tx = {};
  const failed = a.writes.withItsWrites(tx, async () => {
    void b.writes.partOf(tx, () => Promise.reject(new Error('not stored')));
  });
  await expect(failed).rejects.toThrow('not stored');
  b.ready.noteReady(tx, [{ workflowId: 'i/lane/orders/3', state: 'ready' }]);
  expect(a.ready.lanesFilledBy(tx)).toEqual([{ topic: 'orders', lane: 3 }]);
});

test('a topic, a refusal and the handlers of a class of another copy are known', () => {
  const topic = b.topics.topic('orders', schema);
  expect(() => a.topics.assertTopic('send', topic)).not.toThrow();
  const position = { address: 'orders', partition: 0, offset: '1' };
  expect(a.refusals.refusalReasonOf(b.refusals.unreadable(position, 'no-id', 'x'))).toBe('no-id');
  class Handlers {
    handle(): Promise<void> {
      return Promise.resolve();
    }
  }
  b.nest.OnMessage(topic)(Handlers.prototype, 'handle', {});
  expect(a.nest.handlingsOf(Handlers.prototype)).toMatchObject([{ method: 'handle' }]);
});

test('each further copy is warned of once, with its folder', () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  const folder = '/app/node_modules/shop/node_modules/temporal-outbox';
  noteCopy(folder);
  noteCopy(folder);
  expect(warned.mock.calls).toEqual([
    [expect.stringContaining(folder), { code: 'TEMPORAL_OUTBOX_LOADED_TWICE' }],
  ]);
  warned.mockRestore();
});
