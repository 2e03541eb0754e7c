import { expect, test } from 'vitest';
import { ReceiptReader } from '../../../src/app/relay/receipt-reader.ts';
import { incomingMessage } from '../../../src/brokers/incoming-message.ts';
import type { IncomingMessage, Source, Subscription } from '../../../src/brokers/source.ts';
import type { RelayEvent } from '../../../src/relay/report.ts';
import { until } from '../../support/fixtures/until.ts';

/** A source that gives its subscription to the test, and notes what was told as done. */
class HandedSource implements Source {
  readonly name = 'handed';
  readonly done: string[] = [];
  readonly rejected: { readonly offset: string; readonly afterMs: number }[] = [];
  subscription: Subscription | undefined;
  stopped = false;

  redeliveryPeriodMs(): Promise<number> {
    return Promise.resolve(0);
  }

  async subscribe(subscription: Subscription) {
    this.subscription = subscription;
    return {
      lag: async () => [],
      stop: async () => {
        this.stopped = true;
      },
    };
  }

  offer(...bodies: readonly string[]): Promise<void> | undefined {
    const place = { address: 'outbox-receipts', partition: 0 };
    return this.subscription?.handle({
      ...place,
      messages: bodies.map((body, offset) => message(place, body, String(offset))),
      signal: new AbortController().signal,
      lost: new AbortController().signal,
      mayBegin: () => true,
      acknowledge: ({ offset }) => void this.done.push(offset),
      reject: ({ offset }, afterMs) => void this.rejected.push({ offset, afterMs }),
    });
  }
}

function message(
  place: { address: string; partition: number },
  body: string,
  offset: string,
): IncomingMessage {
  return incomingMessage({
    ...place,
    offset,
    key: null,
    body: new TextEncoder().encode(body),
    headers: {},
    timestamp: new Date(0),
  });
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

test('a receipt counts as read once it is applied', async () => {
  const { source, reader } = await reading();

  await source.offer('applied', 'applied');

  expect(source.rejected).toEqual([]);
  expect(source.done).toEqual(['0', '1']);
  await reader.stop();
  expect(source.stopped).toBe(true);
});

test('a receipt with locked rows is not read: it and the following ones are offered again after a pause', async () => {
  const { source, reader } = await reading();

  await source.offer('applied', 'locked', 'applied');

  expect(source.done).toEqual(['0']);
  expect(source.rejected).toEqual([{ offset: '1', afterMs: 1_000 }]);
  await reader.stop();
});

test('a receipt that the database could not apply is not read, and the failure is reported', async () => {
  const { source, events, reader } = await reading();

  await source.offer('broken', 'applied');

  expect(source.done).toEqual([]);
  expect(source.rejected).toEqual([{ offset: '0', afterMs: 1_000 }]);
  expect(events).toMatchObject([{ type: 'error', during: 'receipts' }]);
  await reader.stop();
});
