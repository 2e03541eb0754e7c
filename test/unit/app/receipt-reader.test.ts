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

test.each([
  ['that are applied', ['applied', 'applied'], ['0', '1'], undefined],
  ['of which one has locked rows', ['applied', 'locked', 'applied'], ['0'], '1'],
  ['of which the database could not apply the first', ['broken', 'applied'], [], '0'],
] as const)(
  'of receipts %s those count as read that came before, and the others are offered again after a pause',
  async (_what, bodies, done, again) => {
    const { source, events, reader } = await reading();

    await source.offer(...bodies);

    expect(source.done).toEqual(done);
    expect(source.rejected).toEqual(again === undefined ? [] : [{ offset: again, afterMs: 1_000 }]);
    const failure = { type: 'error', during: 'receipts', error: new Error('the database is away') };
    expect(events).toEqual(bodies[0] === 'broken' ? [failure] : []);
    await reader.stop();
    expect(source.stopped).toBe(true);
  },
);
