import { z } from 'zod';
import type { SeenFilter } from '../../../src/brokers/seen-filter.ts';
import type { IncomingBatch, IncomingMessage } from '../../../src/brokers/source.ts';
import { type Topic, type TopicOptions, topic } from '../../../src/core/topic.ts';
import { Tally } from '../../../src/inbox/consumer-counts.ts';
import type { ConsumerEvent } from '../../../src/inbox/consumer-event.ts';
import { resolveConsumerRules } from '../../../src/inbox/consumer-options.ts';
import { Breaker } from '../../../src/inbox/handling/breaker.ts';
import { HandlerTransactions } from '../../../src/inbox/handling/handler-transactions.ts';
import { OneSuspect } from '../../../src/inbox/handling/one-suspect.ts';
import { Receipts } from '../../../src/inbox/handling/receipts.ts';
import { InboxTransactions } from '../../../src/inbox/inbox-transactions.ts';
import { MessageIntake } from '../../../src/inbox/intake/message-intake.ts';
import { routeOf } from '../../../src/inbox/route.ts';
import { RouteTable } from '../../../src/inbox/route-table.ts';
import type { Transaction } from '../../../src/store/database/transaction.ts';
import { ScriptedClient } from '../../support/fixtures/scripted-client.ts';
import { incoming } from './incoming.ts';

/** What a test decides. */
export interface IntakeSettings {
  readonly batchSize?: number;
  readonly batchWaitMs?: number;
  readonly retryMs?: readonly number[];
  readonly blockKey?: boolean;
  readonly breakerKeys?: number;
  readonly filter?: SeenFilter;
  readonly heard?: boolean;
  readonly topicOptions?: TopicOptions;
  /** Handles the number in the body of a message. */
  readonly handler?: (n: number) => Promise<unknown>;
}

/** The intake of a consumer with everything that it needs, on a scripted database. */
export class IntakeBench {
  readonly database = new ScriptedClient();
  readonly events: ConsumerEvent[] = [];
  readonly calls: string[] = [];
  readonly handled: number[] = [];
  readonly receipts: {
    readonly state: string;
    readonly ids: readonly string[];
    readonly installation?: string | undefined;
  }[] = [];
  readonly tally = new Tally([], () => undefined);
  readonly suspects = new OneSuspect();
  readonly breaker: Breaker;
  readonly intake: MessageIntake<Transaction>;

  constructor(settings: IntakeSettings = {}) {
    const { database, events, suspects, tally } = this;
    const group = 'shop';
    const limitMs = 5_000;
    // Every message is new, unless the test says otherwise.
    database.on('outbox.receive_one(', () => [{ stored: 'true' }]);
    database.on('outbox.receive(', () => [{ arrivals: '[]' }]);
    database.on('outbox.read_processed', () => [{ noted: '[]', others: null }]);
    const report = (event: ConsumerEvent): void => void events.push(event);
    const client = new InboxTransactions(database.client, limitMs);
    const { breakerKeys, retryMs = [10_000], blockKey = false } = settings;
    const handlers = new HandlerTransactions({
      client,
      group,
      middlewares: [],
      deadline: new AbortController().signal,
    });
    this.breaker = new Breaker(
      breakerKeys === undefined ? undefined : { keys: breakerKeys, longestPauseMs: 30_000 },
      report,
    );
    const orders = topic('orders', z.object({ n: z.number() }), settings.topicOptions);
    const others: Topic = topic('others', z.unknown(), { address: 'orders' });
    const route = routeOf<Transaction, { n: number }, { n: number }>(
      orders,
      async (_tx, { payload: { n } }) => {
        await settings.handler?.(n);
        this.handled.push(n);
      },
    );
    const lookup = new RouteTable([route], [others]);
    const receipts = new Receipts({
      group,
      sender: {
        send: async (some) =>
          void this.receipts.push(
            ...some.map(({ ids, installation, state }) => ({ ids, installation, state })),
          ),
        close: async () => undefined,
      },
      report,
    });
    const context = {
      client,
      rules: {
        ...resolveConsumerRules({ group }),
        tries: { retryMs, blockKey, maxKills: 3 },
        batchSize: settings.batchSize,
        batchWaitMs: settings.batchWaitMs,
        keyConcurrency: 1,
        quickRetriesMs: [],
      },
      sourceRoutes: [],
      filter: settings.filter,
      suspects,
      tally,
      metrics: undefined,
      breaker: this.breaker,
      handlers,
      report,
      heard: settings.heard ?? true,
      ask: database.ask,
    };
    this.intake = new MessageIntake(context, {
      lookup,
      receipts,
      onParked: () => this.calls.push('parked'),
      onFailed: () => this.calls.push('failed'),
    });
  }

  /** Offers messages as one batch, and returns what the source got. */
  async offer(messages: readonly IncomingMessage[], given: Partial<IncomingBatch> = {}): Promise<Offered> {
    const offered: Offered = { acknowledged: [], rejected: [] };
    const none = new AbortController().signal;
    await this.intake.handle({
      address: 'orders',
      partition: 0,
      messages,
      signal: none,
      lost: none,
      mayBegin: () => true,
      acknowledge: ({ offset }) => void offered.acknowledged.push(offset),
      reject: ({ offset }, afterMs) => void offered.rejected.push([offset, afterMs]),
      ...given,
    });
    return offered;
  }

  /** The events of these types, each without the fields that are the same for all. */
  told(...types: readonly ConsumerEvent['type'][]): readonly ConsumerEvent[] {
    return this.events.filter(({ type }) => types.includes(type));
  }

  /** The kept messages as the database was asked to store them, with the delay of a new key. */
  parked(): readonly (readonly [Record<string, unknown>, unknown])[] {
    return this.database
      .said('outbox.park(')
      .flatMap(([, rows, retryInMs]) =>
        (JSON.parse(String(rows)) as Record<string, unknown>[]).map((row) => [row, retryInMs] as const),
      );
  }

  /** The ids that were marked as in hand, by statement. */
  marked(): readonly unknown[] {
    return this.database.said('insert into outbox.mark').map(([, , , , ids]) => ids);
  }
}

export interface Offered {
  readonly acknowledged: string[];
  readonly rejected: (readonly [offset: string, afterMs: number])[];
}

/** Message number n of the partition, of a key of its own unless one is given. */
export function numbered(
  n: number,
  differs: {
    readonly key?: string | null;
    readonly headers?: Record<string, string>;
    readonly json?: unknown;
  } = {},
): IncomingMessage {
  const { key = `k${n}`, headers = {}, json = { n } } = differs;
  return incoming({
    offset: String(n),
    key,
    json,
    headers: { ce_id: `id-${n}`, ce_type: 'orders', ...headers },
  });
}
