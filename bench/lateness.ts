import { setTimeout as delay } from 'node:timers/promises';
import type { RunningRelay } from '../src/config/start-relay.ts';
import { send } from '../src/outbox/send.ts';
import { type TransactionRunner, transaction } from '../src/outbox/transact.ts';
import { fromQuery, type Transaction } from '../src/store/database/transaction.ts';
import type { Transport } from '../src/transports/transport.ts';
import { type BodyTopic, body, createTopic, fill, type Stage } from './workload.ts';

export interface Percentiles {
  readonly p50: number;
  readonly p99: number;
}

/** A transport that records when each message was acknowledged, by the clock of this process. */
export interface Noting extends Transport {
  readonly acknowledgedAt: Map<string, number>;
}

export function noting(transport: Transport): Noting {
  const acknowledgedAt = new Map<string, number>();
  return {
    ...transport,
    acknowledgedAt,
    async publish(batch) {
      const result = await transport.publish(batch);
      const now = wallClock();
      for (const [index, message] of batch.messages.entries()) {
        if (result.outcomes[index]?.kind === 'acknowledged') acknowledgedAt.set(message.id, now);
      }
      return result;
    },
  };
}

export type RelayOf = (topic: BodyTopic, transport: Transport) => RunningRelay;

const ratePerSecond = 200;
/** A relay that has just taken its first lane is still loading code; only its steady state counts. */
const warmUpSeconds = 2;

/** From commit to the broker's acknowledgement, at 200 messages a second, one transaction each. */
export async function commitToBroker(
  stage: Stage,
  relayOf: RelayOf,
  transport: Noting,
  options: { readonly seconds: number; readonly nudged: boolean },
): Promise<Percentiles> {
  const target = await createTopic(stage, options.nudged ? 'latency' : 'latency-polled', {});
  const relay = relayOf(target, transport);
  await relay.ready;
  try {
    const committedAt = new Map<string, number>();
    const client = runner(stage);
    const store = async (note: boolean): Promise<void> => {
      const work = (tx: Transaction) => send(tx, target, body, { key: `key-${committedAt.size % 100}` });
      // The wrapper's own work follows the commit, so the clock is read inside it.
      const stored = await (options.nudged ? transaction(client, work) : client.$transaction(work));
      if (note) committedAt.set(stored.id, client.committedAt());
    };
    await store(false);
    await until(() => transport.acknowledgedAt.size > 0, 'the first message');
    await pace(warmUpSeconds * ratePerSecond, ratePerSecond, () => store(false));
    await pace(options.seconds * ratePerSecond, ratePerSecond, () => store(true));
    await until(
      () => [...committedAt.keys()].every((id) => transport.acknowledgedAt.has(id)),
      'all messages',
    );
    return percentiles([...committedAt].map(([id, at]) => (transport.acknowledgedAt.get(id) ?? 0) - at));
  } finally {
    await relay.stop();
    transport.acknowledgedAt.clear();
  }
}

/** Lateness of messages that are due at the same instant, with `timer: 'lane'`. */
export async function dueTogether(
  stage: Stage,
  relayOf: RelayOf,
  transport: Noting,
  count: number,
): Promise<Percentiles> {
  const target = await createTopic(stage, 'due-together', { lanes: 2, timer: 'lane' });
  const relay = relayOf(target, transport);
  await relay.ready;
  try {
    const dueAt = new Date(Date.now() + 5_000);
    await fill(stage, target, count, dueAt);
    if (wallClock() >= dueAt.getTime())
      throw new Error('Storing took longer than the messages were to wait.');
    await until(() => transport.acknowledgedAt.size >= count, 'all messages');
    return percentiles([...transport.acknowledgedAt.values()].map((at) => at - dueAt.getTime()));
  } finally {
    await relay.stop();
    transport.acknowledgedAt.clear();
  }
}

/** A client with the interface of Prisma's that records when its last commit returned. */
function runner(stage: Stage): TransactionRunner<Transaction> & { committedAt(): number } {
  let committedAt = 0;
  return {
    committedAt: () => committedAt,
    $transaction: async (work) => {
      const result = await stage.database.transaction((sql) =>
        work(fromQuery((text, values) => sql.query(text, values))),
      );
      committedAt = wallClock();
      return result;
    },
    $queryRawUnsafe: <Answer>(text: string, ...values: unknown[]) =>
      fromQuery((statement, bound) => stage.database.query(statement, bound)).$queryRawUnsafe<Answer>(
        text,
        ...values,
      ),
  };
}

/** Calls `work` at a constant rate, even if earlier calls are slow. */
async function pace(count: number, perSecond: number, work: () => Promise<void>): Promise<void> {
  const startedAt = performance.now();
  for (let index = 0; index < count; index += 1) {
    await delay(Math.max(0, startedAt + (index * 1_000) / perSecond - performance.now()));
    await work();
  }
}

async function until(condition: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`Waited a minute for ${what}.`);
    await delay(20);
  }
}

/** Milliseconds since the epoch with a fraction, on the same scale throughout this process. */
function wallClock(): number {
  return performance.timeOrigin + performance.now();
}

function percentiles(values: readonly number[]): Percentiles {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    Math.round((sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0) * 10) / 10;
  return { p50: at(0.5), p99: at(0.99) };
}
