import { afterEach, beforeEach, expect, test } from 'vitest';
import { RefusedRequest } from '../../../../src/brokers/rocketmq/client/failure.ts';
import type { Proxies } from '../../../../src/brokers/rocketmq/client/proxies.ts';
import type { LeasedMessage } from '../../../../src/brokers/rocketmq/source/leased-message.ts';
import { Leases } from '../../../../src/brokers/rocketmq/source/leases.ts';
import { fakeTime, pass, realTime, soFar } from '../../../support/fixtures/fake-time.ts';

beforeEach(fakeTime);
afterEach(realTime);

const invisibleMs = 60_000;

interface Asked {
  readonly endpoint: string;
  readonly kind: 'acknowledge' | 'change';
  readonly receipts: readonly string[];
  readonly seconds?: number;
}

/** Leases at proxies that answer after 100 ms, unless a test has an error for the request. */
function stage() {
  const asked: Asked[] = [];
  const errors: Error[] = [];
  let renewals = 0;
  const request = (endpoint: string) => ({
    ackMessage: (one: { toObject(): { entriesList: { receiptHandle: string }[] } }) =>
      asked.push({
        endpoint,
        kind: 'acknowledge',
        receipts: one.toObject().entriesList.map(({ receiptHandle }) => receiptHandle),
      }),
    changeInvisibleDuration: (one: {
      toObject(): { receiptHandle: string; invisibleDuration?: { seconds: number } };
    }) => {
      const { invisibleDuration, receiptHandle } = one.toObject();
      const seconds = invisibleDuration?.seconds ?? Number.NaN;
      asked.push({ endpoint, kind: 'change', receipts: [receiptHandle], seconds });
    },
  });
  const proxies = {
    connection: { invisibleMs, namespace: 'shop' },
    insist: async (endpoint: string, ask: (client: unknown) => unknown) => {
      ask(request(endpoint));
      await new Promise<void>((resolve) => setTimeout(resolve, 100));
      const error = errors.shift();
      if (error !== undefined) throw error;
      return { getReceiptHandle: () => `renewed-${(renewals += 1)}` };
    },
  } as unknown as Proxies;
  return { asked, errors, leases: new Leases(proxies, 'stock') };
}

function leased(receipt: string, place: { endpoint?: string; address?: string } = {}): LeasedMessage {
  const { address = 'orders', endpoint = 'a:1' } = place;
  return {
    incoming: { address } as LeasedMessage['incoming'],
    messageId: receipt,
    endpoint,
    bytes: 1,
    receipt,
    untilMs: performance.now() + invisibleMs,
    notBeforeMs: 0,
    lost: false,
    done: false,
  };
}

test('a renewal requests the whole time again, counted from the request, and stores the new receipt', async () => {
  const { asked, leases } = stage();
  const message = leased('m');
  await pass(30_000);
  void leases.renew([message]);
  await pass(100);
  expect(asked).toEqual([{ endpoint: 'a:1', kind: 'change', receipts: ['m'], seconds: 60 }]);
  expect(message).toMatchObject({ receipt: 'renewed-1', lost: false });
  expect(message.untilMs).toBe(performance.now() - 100 + invisibleMs);
});

test('a message is lost when its receipt is invalid, or its time ends before a proxy answers', async () => {
  const { errors, leases } = stage();
  const [invalid, away, late] = [leased('invalid'), leased('away'), leased('late')];
  errors.push(new RefusedRequest('INVALID_RECEIPT_HANDLE', 'expired'));
  void leases.renew([invalid]);
  await pass(100);
  expect(invalid.lost).toBe(true);
  errors.push(new Error('no proxy'));
  void leases.renew([away]);
  await pass(100);
  expect(away).toMatchObject({ lost: false, receipt: 'away' });
  late.untilMs = performance.now() + 100;
  errors.push(new Error('no proxy'));
  void leases.renew([late]);
  await pass(99);
  expect(late.lost).toBe(false);
  await pass(1);
  expect(late.lost).toBe(true);
});

test('done and lost messages are not renewed', async () => {
  const { asked, leases } = stage();
  const [done, lost] = [
    { ...leased('done'), done: true },
    { ...leased('lost'), lost: true },
  ];
  void leases.renew([done, lost, leased('held')]);
  await pass(300);
  expect(asked.flatMap(({ receipts }) => receipts)).toEqual(['held']);
});

test('messages are acknowledged together per proxy and topic, with the receipt of a renewal in flight', async () => {
  const { asked, leases } = stage();
  const [one, two] = [leased('one'), leased('two')];
  const others = [leased('b', { endpoint: 'b:1' }), leased('bills', { address: 'bills' })];
  void leases.renew([one]);
  await pass(50);
  const acknowledged = soFar(leases.acknowledge([one, two, ...others]));
  await pass(49);
  expect(asked.filter(({ kind }) => kind === 'acknowledge')).toEqual([]);
  await pass(1);
  expect(asked.slice(1)).toEqual([
    { endpoint: 'a:1', kind: 'acknowledge', receipts: ['renewed-1', 'two'] },
    { endpoint: 'b:1', kind: 'acknowledge', receipts: ['b'] },
    { endpoint: 'a:1', kind: 'acknowledge', receipts: ['bills'] },
  ]);
  expect(acknowledged.state).toBe('open');
  await pass(100);
  expect(acknowledged.state).toBe('resolved');
  expect([one, two, ...others].every(({ done }) => done)).toBe(true);
});

test('an acknowledgement without an answer is tried three times, and a refused one once', async () => {
  const { asked, errors, leases } = stage();
  errors.push(...Array.from({ length: 3 }, () => new Error('no proxy')));
  const acknowledged = soFar(leases.acknowledge([leased('m')]));
  await pass(100 + 199);
  expect(asked).toHaveLength(1);
  await pass(1);
  expect(asked).toHaveLength(2);
  await pass(300);
  expect(asked).toHaveLength(3);
  await pass(100);
  expect(acknowledged.state).toBe('resolved');
  errors.push(new RefusedRequest('INVALID_RECEIPT_HANDLE', 'expired'));
  void leases.acknowledge([leased('n')]);
  await pass(1_000);
  expect(asked).toHaveLength(4);
});

test('released messages are visible at once, sixteen at a time, whatever happens to each', async () => {
  const { asked, errors, leases } = stage();
  errors.push(new Error('no proxy'));
  const messages = Array.from({ length: 20 }, (_, n) => leased(`m${n}`));
  const released = soFar(leases.release(messages));
  await pass(0);
  expect(asked).toHaveLength(16);
  await pass(100);
  expect(asked.map(({ receipts: [receipt] }) => receipt)).toEqual(messages.map((_, n) => `m${n}`));
  expect(new Set(asked.map(({ seconds }) => seconds))).toEqual(new Set([0]));
  await pass(100);
  expect(released.state).toBe('resolved');
});
