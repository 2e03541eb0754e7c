import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { OutboxError } from '../../../src/core/errors.ts';
import { type ReceivedRequest, receive } from '../../../src/http.ts';
import { ownFaultWait } from '../../../src/inbox/http/own-fault.ts';
import type { ReceiveOptions } from '../../../src/inbox/http/receive-options.ts';
import { readRequestBody } from '../../../src/inbox/http/request-body.ts';
import { permanent } from '../../../src/inbox/verdict.ts';
import type { Transaction } from '../../../src/store/database/transaction.ts';
import { ScriptedClient } from '../../support/fixtures/scripted-client.ts';
import { signed, webhookSecret } from '../../support/fixtures/webhook.ts';

function stage(given: Partial<ReceiveOptions<Transaction>> = {}) {
  const database = new ScriptedClient();
  const told: unknown[] = [];
  const got: ReceivedRequest[] = [];
  const world = { work: async (): Promise<unknown> => undefined };
  database.on('outbox.mark_processed', ([, ids]) => [{ fresh: JSON.stringify(ids) }]);
  const options: ReceiveOptions<Transaction> = {
    client: database.client,
    group: 'inventory',
    secret: webhookSecret('k'),
    report: (error, id) => told.push([error, id]),
    ...given,
  };
  const answered = async (request: Request) => {
    const response = await receive(request, options, async (_tx, message) => {
      got.push(message);
      return world.work();
    });
    return [response.status, await response.text(), response.headers.get('retry-after')];
  };
  return { answered, database, got, options, told, world };
}

const away = Object.assign(new Error('terminating connection'), { code: '57P01' });
const deadlock = Object.assign(new Error('deadlock detected'), { code: '40P01' });

test('a request that cannot be a message is refused before any work', async () => {
  const { answered, database, got, told } = stage({ maxBytes: 10 });
  const other = signed('{}', { by: webhookSecret('x') });

  expect(await answered(other.request())).toEqual([401, expect.stringMatching(/\.$/), null]);
  expect(await answered(signed('{"n":12345}').request())).toEqual([
    413,
    'The body is longer than 10 bytes.',
    null,
  ]);
  expect(await answered(signed('{"n":1234}').request())).toEqual([204, '', null]);
  expect(await answered(signed('{"n":', {}).request())).toEqual([400, 'The body is not JSON.', null]);
  expect(await answered(signed('{}', { id: 'x'.repeat(513) }).request())).toEqual([
    400,
    'The id is not one of 1 to 512 bytes without NUL.',
    null,
  ]);
  expect(got).toHaveLength(1);
  expect(database.transactions).toHaveLength(1);
  expect(told).toEqual([]);
});

test.each([
  ['the work fails', new Error('no'), [500, 'The work failed.', null]],
  ['the work throws a permanent error', permanent(new Error('no stock')), [422, 'no stock', null]],
  ['the database becomes unreachable', away, [503, 'The database cannot be used now.', '5']],
  ['another transaction conflicts', deadlock, [503, 'The database cannot be used now.', '1']],
] as const)('when %s the sender gets the fitting status', async (_, error, answer) => {
  const { answered, database, told, world } = stage();
  world.work = () => Promise.reject(error);
  const { id, request } = signed('{}');

  expect(await answered(request())).toEqual(answer);
  expect(told).toEqual([[error, id]]);
  expect(database.transactions.map(({ committed }) => committed)).toEqual([false]);
});

test.each([
  [new Error('anything'), false, 5],
  [new Error('anything'), true, undefined],
  [new OutboxError('OUTBOX_MIGRATION_MISSING', ''), false, 5],
  [new OutboxError('OUTBOX_PRIVILEGE_MISSING', ''), false, 5],
  [new OutboxError('OUTBOX_ROW_SECURITY_ACTIVE', ''), false, 5],
  [new OutboxError('OUTBOX_SCHEMA_EMPTIED', ''), false, 5],
  [new OutboxError('OUTBOX_SERVER_UNAVAILABLE', ''), false, 5],
  [new OutboxError('OUTBOX_OPTION_INVALID', ''), false, undefined],
  [away, true, 5],
  [deadlock, true, 1],
])('%s, with the work begun: %s, asks the sender to wait %s s', (error, begun, seconds) => {
  expect(ownFaultWait(error, begun)).toBe(seconds);
});

test('a body that is not read on is ended, whether too long or too late', async () => {
  for (const [next, status] of [
    [() => new Promise<never>(() => undefined), 408],
    [async () => ({ done: false, value: new Uint8Array(9) }) as const, 413],
  ] as const) {
    let left = 0;
    const body = {
      [Symbol.asyncIterator]: () => ({
        next,
        return: async () => {
          left += 1;
          throw new Error('it is of no interest');
        },
      }),
    };
    const refusal = await Promise.race([readRequestBody(body, 5, 1), delay(1_000, 'it waits')]);
    expect(left).toBe(1);
    expect(refusal).toMatchObject({ kind: 'refused', status });
  }
});

test.each([
  ['application/json', '{"n":1}', { n: 1 }],
  ['application/cloudevents+json; charset=utf-8', '[]', []],
  ['APPLICATION/JSON', '1', 1],
  ['text/plain', '{"n":1}', '{"n":1}'],
  ['application/jsonlines', '1', '1'],
])('a body of %s is read as such', async (type, body, payload) => {
  const { answered, got } = stage();
  expect(await answered(signed(body, { more: { 'content-type': type } }).request())).toEqual([204, '', null]);
  expect(got[0]).toMatchObject({ payload, topic: null, key: null });
});
