import { z } from 'zod';
import type { IncomingMessage, Lag, Source, Subscription } from '../../../src/brokers/source.ts';
import { type Topic, topic } from '../../../src/core/topic.ts';
import { InboxConsumer } from '../../../src/inbox/consumer.ts';
import type { ConsumerEvent } from '../../../src/inbox/consumer-event.ts';
import type { ConsumerSettings } from '../../../src/inbox/consumer-options.ts';
import type { ConsumerParts, ParkedKeysPlan } from '../../../src/inbox/consumer-plan.ts';
import type { LetterOutcome } from '../../../src/inbox/parked/dead-letter.ts';
import type { Transaction } from '../../../src/store/database/transaction.ts';
import { readMigrations } from '../../../src/store/installation/migrate.ts';
import { ScriptedClient } from '../../support/fixtures/scripted-client.ts';
import { incoming } from './incoming.ts';

/** A source that delivers what a test hands to its subscription. */
export interface ScriptedSource extends Source {
  readonly subscriptions: Subscription[];
  lag: () => Promise<readonly Lag[]>;
  /** Awaited by each join. */
  joins: () => Promise<void>;
  /** Awaited when it is left. */
  leaves: () => Promise<void>;
  periodMs: () => Promise<number>;
  /** Offers messages of partition 0, and returns which offsets were acknowledged and rejected. */
  deliver(...messages: readonly IncomingMessage[]): Promise<readonly (readonly [string, string])[]>;
}

export type Handle = (n: number, signal: () => AbortSignal) => Promise<unknown>;

/** What a test decides. */
export interface ConsumerSetup {
  readonly settings?: Partial<ConsumerSettings>;
  readonly parts?: Partial<ConsumerParts<Transaction>>;
  readonly handler?: Handle;
  /** Topics without a handler here are known all the same. */
  readonly topics?: readonly Topic[];
  /** Numbers of a source by topic. @defaultValue all are of the first */
  readonly sourceOf?: Readonly<Record<string, number>>;
}

/** A topic of messages that have a number. */
export const numbers = (name: string, options: Parameters<typeof topic>[2] = {}): Topic =>
  topic(name, z.object({ n: z.number() }), options);

/** Message number n of a topic. */
export const numbered = (n: number, differs: Partial<IncomingMessage> = {}): IncomingMessage =>
  incoming({ offset: String(n), json: { n }, headers: { ce_id: `id-${n}`, ce_type: 'orders' }, ...differs });

/** A whole consumer: its servers are scripted, and what ends is noted in order. */
export async function consumerBench(setup: ConsumerSetup = {}) {
  const database = new ScriptedClient();
  const events: ConsumerEvent[] = [];
  const steps: string[] = [];
  const hosted: ParkedKeysPlan[] = [];
  const started: string[] = [];
  const receipts: (readonly string[])[] = [];
  const letters: string[] = [];
  const world = {
    hosting: true,
    start: async (): Promise<void> => undefined,
    /** Awaited by the end of what hosts workflows. */
    hostEnds: async (): Promise<void> => undefined,
    letter: (): LetterOutcome => ({ kind: 'taken' }),
  };
  const noted = (step: string): readonly object[] => {
    steps.push(step);
    return [];
  };
  const migrations = await readMigrations();
  database
    .on('transaction_isolation', () => [{ level: 'read committed' }])
    .on('outbox.migration', () => [{ there: true }])
    .on('from outbox.migration', () => migrations)
    .on('from outbox.installation', () => [{ id: 'installation-1', same: true }])
    .on('outbox.receive_one(', () => [{ stored: 'true' }])
    .on('outbox.receive(', () => [{ arrivals: '[]' }])
    .on('outbox.read_processed', () => [{ noted: '[]', others: null }])
    .on('outbox.end_dead_tries', () => [])
    .on('as others,', () => [{ others: false }])
    .on('as "parkedKeys"', () => [{ parked: 0, parkedKeys: 0, failed: 0 }])
    .on('as blocked', () => [{ parked: 0, blocked: 0 }])
    .on('as "windowMs"', () => [{ windowMs: null }])
    .on('outbox.drop_failed_kept', () => [{ deleted: 0 }])
    .on('outbox.letter_turn as t', () => [{}])
    .on('outbox.join_try', () => [{ joined: true }])
    .on('outbox.end_try', () => [{ ended: 'gone' }])
    .on('delete from outbox.consumer where id', () => noted('presence'))
    .on('delete from outbox.mark using limited where consumer_group = $1 and owner', () => noted('marks'));
  const { topics = [numbers('orders')] } = setup;
  const sources = [scriptedSource('memory', steps), scriptedSource('other', steps)] as const;
  const sourceOf = ({ name }: Topic): ScriptedSource => sources[setup.sourceOf?.[name] === 1 ? 1 : 0];
  const consumer = new InboxConsumer<Transaction>({
    client: database.client,
    settings: { group: 'shop', report: (event) => events.push(event), ...setup.settings },
    topics,
    sourceOf,
    receiptSenderOf: ({ name }) => ({
      send: async (some) => void receipts.push([name, ...some.flatMap(({ ids }) => ids)]),
      close: async () => void steps.push(`receipts of ${name}`),
    }),
    deadLetterSenderOf: ([first]) => ({
      send: async (some) => {
        letters.push(...some.map(({ address }) => address));
        return some.map(() => world.letter());
      },
      close: async () => void steps.push(`dead letters of ${first?.name}`),
    }),
    processInfo: { host: 'here', pid: 7, version: '1.2.3' },
    hostParkedKeys: (plan) => {
      hosted.push(plan);
      return {
        workflows: {
          start: async ({ keyId }) => {
            started.push(keyId);
            await world.start();
          },
          check: () => world.start(),
          hosting: () => world.hosting,
        },
        bulks: { host: async () => undefined, start: async () => undefined },
        stop: async () => {
          await world.hostEnds();
          steps.push('workflows');
        },
      };
    },
    ...setup.parts,
  });
  for (const one of topics)
    consumer.on(one, async (_tx, { payload }, context) => {
      await setup.handler?.((payload as { n: number }).n, () => context.signal);
    });
  return {
    consumer,
    database,
    events,
    letters,
    receipts,
    sources,
    started,
    steps,
    world,
    /** What hosts workflows was given. */
    plan: (): ParkedKeysPlan => {
      const [plan] = hosted;
      if (plan === undefined) throw new Error('Nobody hosts workflows.');
      return plan;
    },
    told: (type: ConsumerEvent['type']) => events.filter((event) => event.type === type),
  };
}

function scriptedSource(name: string, steps: string[]): ScriptedSource {
  const inHand = new Set<Promise<void>>();
  const source: ScriptedSource = {
    name,
    subscriptions: [],
    lag: async () => [],
    joins: async () => undefined,
    leaves: async () => undefined,
    periodMs: async () => 0,
    redeliveryPeriodMs: () => source.periodMs(),
    subscribe: async (subscription) => {
      source.subscriptions.push(subscription);
      await source.joins();
      const stop = async (): Promise<void> => {
        await Promise.all(inHand);
        await source.leaves();
        steps.push(`leave ${name}`);
      };
      return { lag: () => source.lag(), stop };
    },
    deliver: async (...messages) => {
      const told: (readonly [string, string])[] = [];
      const handling = source.subscriptions.at(-1)?.handle({
        address: messages[0]?.address ?? 'orders',
        partition: messages[0]?.partition ?? 0,
        messages,
        signal: new AbortController().signal,
        lost: new AbortController().signal,
        mayBegin: () => true,
        acknowledge: ({ offset }) => void told.push(['acknowledged', offset]),
        reject: ({ offset }) => void told.push(['rejected', offset]),
      });
      if (handling === undefined) throw new Error('Nobody has joined.');
      inHand.add(handling);
      await handling.finally(() => inHand.delete(handling));
      return told;
    },
  };
  return source;
}
