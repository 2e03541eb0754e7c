import { z } from 'zod';
import { memorySource } from '../../../src/brokers/memory/memory-source.ts';
import { type Topic, type TopicOptions, topic } from '../../../src/core/topic.ts';
import { Tally } from '../../../src/inbox/consumer-counts.ts';
import type { ConsumerEvent } from '../../../src/inbox/consumer-event.ts';
import { resolveConsumerRules } from '../../../src/inbox/consumer-options.ts';
import { Breaker } from '../../../src/inbox/handling/breaker.ts';
import { HandlerTransactions } from '../../../src/inbox/handling/handler-transactions.ts';
import { OneSuspect } from '../../../src/inbox/handling/one-suspect.ts';
import { Receipts } from '../../../src/inbox/handling/receipts.ts';
import { InboxTransactions } from '../../../src/inbox/inbox-transactions.ts';
import { KeyDrain } from '../../../src/inbox/parked/key-drain.ts';
import { routeOf, routeOfBatch } from '../../../src/inbox/route.ts';
import { RouteTable } from '../../../src/inbox/route-table.ts';
import type { SourceRoutes } from '../../../src/inbox/source-routes.ts';
import type { Transaction } from '../../../src/store/database/transaction.ts';
import { writeWire } from '../../../src/store/inbox/wire.ts';
import { ScriptedClient } from '../../support/fixtures/scripted-client.ts';

/** What a test decides. */
export interface DrainSettings {
  readonly quickRetriesMs?: readonly number[];
  readonly breakerKeys?: number;
  readonly topicOptions?: TopicOptions;
  /** Handles the numbers in the bodies of messages, one at a time unless `batch` is set. */
  readonly handler?: (n: number) => Promise<unknown>;
  readonly batch?: boolean;
  /** Awaited by the broker before it has stored receipts. */
  readonly stored?: () => Promise<void>;
  /** Topics of the configuration that have no handler here. */
  readonly knownTopics?: readonly string[];
}

/** A begun try, as the database answers it. */
export function begun(
  n: number,
  differs: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  return {
    kind: 'try',
    waitMs: null,
    id: `id-${n}`,
    topic: 'orders',
    address: 'orders',
    partition: 3,
    offset: String(n),
    wire: writeWire({
      key: 'k',
      headers: {
        ce_id: `id-${n}`,
        ce_type: 'orders',
        ce_source: '/outbox/01234567-89ab-cdef-0123-456789abcdef',
      },
    }),
    body: Buffer.from(JSON.stringify({ n })).toString('base64'),
    sentAt: 1_000,
    attempts: 2,
    number: 7,
    ...differs,
  };
}

/** The drain of parked keys with everything that it needs, on a scripted database. */
export class DrainBench {
  readonly database = new ScriptedClient();
  readonly events: ConsumerEvent[] = [];
  readonly handled: (number | readonly number[])[] = [];
  readonly attempts: number[] = [];
  readonly receipts: (readonly string[])[] = [];
  readonly tally = new Tally([], () => undefined);
  readonly suspects = new OneSuspect();
  readonly deadline = new AbortController();
  readonly breaker: Breaker;
  readonly drain: KeyDrain<Transaction>;
  failed = 0;

  constructor({
    batch = false,
    breakerKeys,
    handler,
    knownTopics = [],
    quickRetriesMs = [],
    stored,
    topicOptions,
  }: DrainSettings = {}) {
    const { database, deadline, events, suspects, tally } = this;
    const group = 'shop';
    const report = (event: ConsumerEvent): void => void events.push(event);
    const client = new InboxTransactions(database.client, 5_000);
    this.breaker = new Breaker(
      breakerKeys === undefined ? undefined : { keys: breakerKeys, longestPauseMs: 30_000 },
      report,
    );
    database.on('outbox.join_try', () => [{ joined: true }]);
    database.on('outbox.end_try', () => [{ ended: 'gone' }]);
    database.on('outbox.return_try', () => [{ returned: true }]);
    const orders = topic('orders', z.object({ n: z.number() }), topicOptions);
    const route = batch
      ? routeOfBatch<Transaction, { n: number }, { n: number }>(orders, async (_tx, messages) => {
          for (const { payload } of messages) await handler?.(payload.n);
          this.handled.push(messages.map(({ payload }) => payload.n));
        })
      : routeOf<Transaction, { n: number }, { n: number }>(
          orders,
          async (_tx, { attempt, payload: { n } }) => {
            this.attempts.push(attempt);
            await handler?.(n);
            this.handled.push(n);
          },
        );
    const known = knownTopics.map((name): Topic => topic(name, z.unknown()));
    const routes = new RouteTable([route], known);
    const receipts = new Receipts({
      group,
      sender: {
        send: async (some) => {
          await stored?.();
          this.receipts.push(...some.map(({ ids }) => ids));
        },
        close: async () => undefined,
      },
      report,
    });
    const source = (lookup: RouteTable<Transaction>, own: Partial<SourceRoutes<Transaction>>) => ({
      name: 'memory',
      source: memorySource(),
      routes: [],
      lookup,
      receipts: undefined,
      deadLetters: undefined,
      ...own,
    });
    const deadLetters = { nudge: () => (this.failed += 1), stop: async () => undefined };
    const context = {
      client,
      rules: {
        ...resolveConsumerRules({ group }),
        tries: { retryMs: [10_000, 20_000], blockKey: true, maxKills: 3 },
        quickRetriesMs,
      },
      sourceRoutes: [
        source(new RouteTable<Transaction>([], known), {}),
        source(routes, { routes: [route], receipts, deadLetters }),
      ],
      filter: undefined,
      suspects,
      tally,
      metrics: undefined,
      breaker: this.breaker,
      handlers: new HandlerTransactions({ client, group, middlewares: [], deadline: deadline.signal }),
      report,
      heard: true,
      ask: database.ask,
    };
    this.drain = new KeyDrain(context, '42');
  }

  /** Answers one after the other of what is begun; then no key is left. */
  begins(...answers: readonly (readonly Readonly<Record<string, unknown>>[])[]): this {
    const left = [...answers];
    this.database.on('outbox.begin_try', () => left.shift() ?? [{ kind: 'gone', waitMs: null, id: null }]);
    return this;
  }

  run(
    signal = new AbortController().signal,
    standIn?: { readonly leave: AbortSignal },
    progress = (): void => undefined,
  ) {
    return this.drain.drain('key-1', signal, progress, standIn);
  }

  told(...types: readonly ConsumerEvent['type'][]): readonly ConsumerEvent[] {
    return this.events.filter(({ type }) => types.includes(type));
  }
}
