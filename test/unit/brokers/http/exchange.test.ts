import type { Agent, Dispatcher } from 'undici';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { post } from '../../../../src/brokers/http/transport/exchange.ts';
import { fakeTime, pass, realTime, soFar } from '../../../support/fixtures/fake-time.ts';

beforeEach(fakeTime);
afterEach(realTime);

const request = { origin: 'http://hooks.test', path: '/orders', headers: { a: 'b' }, body: '{}' };

type Handler = Required<Dispatcher.DispatchHandler>;

/** A request whose connection does what a test says; an abort ends it, as undici does. */
function exchange() {
  let handler: Handler | undefined;
  const sent: unknown[] = [];
  const agent = {
    dispatch: (options: unknown, given: Handler) => {
      sent.push(options);
      handler = given;
      return true;
    },
  } as unknown as Agent;
  const result = soFar(post(agent, request, 5_000));
  const controller = {
    abort: (error: Error) => handler?.onResponseError?.(controller, error),
  } as unknown as Dispatcher.DispatchController;
  return {
    sent,
    result,
    start: () => handler?.onRequestStart(controller, undefined),
    answer: (status: number, headers = {}) => handler?.onResponseStart(controller, status, headers),
    data: (chunk: Buffer) => handler?.onResponseData(controller, chunk),
    end: () => handler?.onResponseEnd(controller, {}),
    fail: (error: Error) => handler?.onResponseError(controller, error),
  };
}

const failed = (written: boolean, message: string) => ({
  state: 'resolved',
  value: { kind: 'failed', written, error: { message } },
});

test('time counts from the connection, and a request without a connection was not written', async () => {
  const { result, start, fail } = exchange();
  await pass(60_000);
  expect(result.state).toBe('open');
  start();
  await pass(4_999);
  expect(result.state).toBe('open');
  await pass(1);
  expect(result).toMatchObject(failed(true, 'no answer within 5000 ms'));

  const refused = exchange();
  refused.fail(new Error('refused'));
  await pass(0);
  expect(refused.result).toMatchObject(failed(false, 'refused'));
  fail(new Error('late'));
  expect(vi.getTimerCount()).toBe(0);
});

test('an answer that ends without a status is a failure', async () => {
  const { result, start, answer, end } = exchange();
  start();
  answer(100);
  end();
  await pass(0);
  expect(result).toMatchObject(failed(true, 'the answer ended without a status'));
});

test('a response is its status, Retry-After, Location and the first kilobyte of its body', async () => {
  const { sent, result, start, answer, data, end } = exchange();
  start();
  answer(103, { location: 'early' });
  answer(429, { 'retry-after': ['7', '8'], location: '/there' });
  data(Buffer.from('a'.repeat(1_000)));
  data(Buffer.from('b'.repeat(100)));
  data(Buffer.from('c'));
  end();
  await pass(0);
  expect(sent).toEqual([{ ...request, method: 'POST' }]);
  expect(result.value).toEqual({
    kind: 'answer',
    answer: {
      status: 429,
      retryAfter: '7',
      location: '/there',
      excerpt: `${'a'.repeat(1_000)}${'b'.repeat(24)}`,
    },
  });
  expect(vi.getTimerCount()).toBe(0);
});
