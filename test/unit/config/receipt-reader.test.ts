import { expect, test } from 'vitest';
import { ReceiptReader } from '../../../src/config/receipt-reader.ts';
import type { RelayEvent } from '../../../src/relay/report.ts';
import type { IncomingMessage, Source, Subscription } from '../../../src/sources/source.ts';
import { until } from '../../support/until.ts';

/** A source that gives its subscription to the test, and notes what was told as done. */
class HandedSource implements Source {
  readonly name = 'handed';
  readonly done: string[] = [];
  subscription: Subscription | undefined;
  stopped = false;

  async subscribe(subscription: Subscription) {
    this.subscription = subscription;
    return {
      stop: async () => {
        this.stopped = true;
      },
    };
  }

  offer(...bodies: readonly string[]): Promise<number | undefined> | undefined {
    const place = { address: 'outbox.receipts', partition: 0 };
    return this.subscription?.handle({
      ...place,
      messages: bodies.map((body, offset) => message(place, body, String(offset))),
      signal: new AbortController().signal,
      mayBegin: () => true,
      done: ({ offset }) => void this.done.push(offset),
    });
  }
}

function message(
  place: { address: string; partition: number },
  body: string,
  offset: string,
): IncomingMessage {
  return {
    ...place,
    offset,
    key: null,
    body: new TextEncoder().encode(body),
    headers: {},
    timestamp: new Date(0),
  };
}

/** A reader whose receipts are `applied`, `locked` or `broken`, as their bodies say. */
async function reading() {
  const source = new HandedSource();
  const events: RelayEvent[] = [];
  const reader = new ReceiptReader({
    source,
    group: 'relays',
    report: (event) => events.push(event),
    intake: {
      apply: async (body) => {
        const text = new TextDecoder().decode(body ?? undefined);
        if (text === 'broken') throw new Error('the database is away');
        return text === 'applied';
      },
    },
  });
  reader.start();
  await until(() => source.subscription !== undefined);
  return { source, events, reader };
}

test('a receipt counts as read when it is applied', async () => {
  const { source, reader } = await reading();

  expect(await source.offer('applied', 'applied')).toBeUndefined();

  expect(source.done).toEqual(['0', '1']);
  await reader.stop();
  expect(source.stopped).toBe(true);
});

test('a receipt whose rows are locked is not read: it, and what follows, is offered again after a pause', async () => {
  const { source, reader } = await reading();

  expect(await source.offer('applied', 'locked', 'applied')).toBe(1_000);

  expect(source.done).toEqual(['0']);
  await reader.stop();
});

test('a receipt that the database could not take is not read, and the failure is told', async () => {
  const { source, events, reader } = await reading();

  expect(await source.offer('broken', 'applied')).toBe(1_000);

  expect(source.done).toEqual([]);
  expect(events).toMatchObject([{ type: 'failed', what: 'receipts' }]);
  await reader.stop();
});
