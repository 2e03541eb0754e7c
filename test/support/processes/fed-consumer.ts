import { z } from 'zod';
import type { PrismaClient } from '../../../dev/generated/shop/client.ts';
import type { MemorySource } from '../../../src/brokers/memory/memory-source.ts';
import type { Source } from '../../../src/brokers/source.ts';
import { topic } from '../../../src/core/topic.ts';
import { InboxConsumer } from '../../../src/inbox/consumer.ts';
import type { ConsumerEvent } from '../../../src/inbox/consumer-event.ts';
import type { RunningConsumer } from '../../../src/inbox/consumer-interface.ts';
import type { ConsumerSettings } from '../../../src/inbox/consumer-options.ts';
import type { HostedParkedKeys, ParkedKeysPlan } from '../../../src/inbox/consumer-plan.ts';
import type { Handler, HandlerContext } from '../../../src/inbox/handler.ts';
import type { HandlerOptions } from '../../../src/inbox/handler-options.ts';
import type { Middleware } from '../../../src/inbox/middleware.ts';
import type { DeadLetter } from '../../../src/inbox/parked/dead-letter.ts';
import type { KeyDrains } from '../../../src/inbox/ports.ts';
import type { InboxMessage } from '../../../src/inbox/reading/inbox-message.ts';
import type { TransactionClient } from '../../../src/inbox/transaction-client.ts';
import { startParkedKeys } from '../../../src/temporal/parked-key/engine.ts';

const numbers = topic('numbers', z.object({ n: z.number() }));
const others = topic('others', z.object({ n: z.number() }));

export type ShopTransaction = Parameters<Parameters<PrismaClient['$transaction']>[0]>[0];

export interface FedMessage {
  readonly n: number;
  /** @defaultValue none */
  readonly key?: string;
  readonly partition?: number;
  /** @defaultValue derived from `n`, so that a repeat has the same id */
  readonly id?: string;
  /** Instead of `{"n":…}`. */
  readonly body?: Uint8Array | string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface FedSettings extends Partial<ConsumerSettings> {
  /** Written with every effect. @defaultValue `one` */
  readonly name?: string;
  readonly temporalAddress?: string;
  /** Runs the workflows of its parked keys. @defaultValue Temporal at `temporalAddress` */
  readonly engine?: (plan: ParkedKeysPlan) => HostedParkedKeys;
  /** Runs before the effect is written. */
  readonly before?: (message: InboxMessage<{ n: number }>, context: HandlerContext) => unknown;
  /** Runs after the effect was written, in its transaction. */
  readonly after?: (message: InboxMessage<{ n: number }>, tx: ShopTransaction) => unknown;
  /** Uses one handler for all messages of a transaction. */
  readonly inBatches?: boolean;
  /** Options of the handler. */
  readonly own?: HandlerOptions;
  readonly middlewares?: readonly Middleware[];
  /** Has a handler for another topic only, like an older or newer deployment of the group. */
  readonly elsewhere?: boolean;
  /** Drains as a stand-in at once, although workflows run. */
  readonly impatient?: boolean;
}

export interface FedConsumer extends RunningConsumer {
  readonly events: readonly ConsumerEvent[];
  /** Copies of failed messages. */
  readonly letters: readonly DeadLetter[];
  /** How many drains its workflows have begun here. */
  drainsOfWorkflows(): number;
}

export function feed(source: MemorySource, ...messages: readonly FedMessage[]): void {
  for (const { n, key = null, partition = 0, id = `id-${n}`, body, headers } of messages) {
    source.append(numbers.name, {
      partition,
      key,
      body: body === undefined ? JSON.stringify({ n }) : body,
      headers: headers ?? { ce_id: id, ce_type: numbers.name },
    });
  }
}

/** Starts a consumer whose handler writes a row per call into the table `effect`. */
export async function startFed(
  prisma: TransactionClient<ShopTransaction>,
  source: Source,
  {
    name = 'one',
    temporalAddress = '',
    engine = (plan) =>
      startParkedKeys({
        ...plan,
        temporal: { address: temporalAddress, namespace: 'default' },
        visible: () => true,
      }),
    before,
    after,
    inBatches = false,
    elsewhere = false,
    impatient = false,
    own = {},
    middlewares = [],
    ...settings
  }: FedSettings,
): Promise<FedConsumer> {
  const events: ConsumerEvent[] = [];
  const letters: DeadLetter[] = [];
  let byWorkflows = 0;
  const consumer = new InboxConsumer<ShopTransaction>({
    client: prisma,
    // In sequence, so that a test can predict the order; concurrent keys have their own tests.
    settings: { group: 'numbers', keyConcurrency: 1, report: (event) => events.push(event), ...settings },
    topics: [numbers, others],
    sourceOf: () => source,
    receiptSenderOf: () => ({ send: async () => undefined, close: async () => undefined }),
    deadLetterSenderOf: () => ({
      send: async (some) => {
        letters.push(...some);
        return some.map(() => ({ kind: 'taken' as const }));
      },
      close: async () => undefined,
    }),
    processInfo: { host: 'here', pid: process.pid, version: '1.2.3' },
    hostParkedKeys({ drains, ...input }) {
      const counted: KeyDrains = {
        drain(...given) {
          byWorkflows += 1;
          return drains.drain(...given);
        },
      };
      const hosted = engine({ ...input, drains: counted });
      const { workflows } = hosted;
      return { ...hosted, workflows: impatient ? { ...workflows, hosting: () => false } : workflows };
    },
  });
  const handle: Handler<ShopTransaction, { n: number }> = async (tx, message, context) => {
    await before?.(message, context);
    await tx.$executeRaw`insert into effect (n, consumer, at) values (${message.payload.n}, ${name}, clock_timestamp())`;
    await after?.(message, tx);
  };
  if (inBatches)
    consumer.onBatch(
      numbers,
      async (tx, messages, context) => {
        for (const message of messages) await handle(tx, message, context);
      },
      own,
    );
  else consumer.on(elsewhere ? others : numbers, handle, own);
  for (const middleware of middlewares) consumer.use(middleware);
  return { ...(await consumer.start()), events, letters, drainsOfWorkflows: () => byWorkflows };
}
