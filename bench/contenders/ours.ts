import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { startRelay } from '../../src/app/relay/start-relay.ts';
import { kafka } from '../../src/brokers/kafka/transport/kafka-transport.ts';
import type { Transport } from '../../src/brokers/transport.ts';
import { send } from '../../src/outbox/send.ts';
import { type TransactionRunner, transaction } from '../../src/outbox/transact.ts';
import type { Database } from '../../src/store/database/database.ts';
import { openDatabase } from '../../src/store/database/pool.ts';
import { clientOf } from '../../src/store/database/pool-client.ts';
import type { Transaction } from '../../src/store/database/transaction.ts';
import { openExporter } from '../../src/telemetry/exporter.ts';
import { announceTopic, type BodyTopic, body, fill, setPaused } from '../workload.ts';
import type { Acknowledged, Contender, ContenderInput, Stored } from './protocol.ts';
import { machineClock } from './serve.ts';

/** So many transactions at a time, with a message each. */
const connections = 16;
const firstLooksMs = 20;

/**
 * temporal-outbox: one relay process with its defaults. Messages are stored by `sendBatch`, 2,000 in a transaction, by two
 * writers; single ones by `send` in `transaction()`, which wakes the relay after the commit.
 *
 * Settings: `lanes`; `topics` of the outbox that share the messages and go to one topic of Kafka; `bytes` of a payload; `timer`,
 * what waits until messages are due; `metrics`, 1 to measure by OpenTelemetry; `nudged`, 0 to leave the finding of messages to the relay's own look.
 */
export async function openOurs(input: ContenderInput, acknowledged: Acknowledged): Promise<Contender> {
  const { databaseUrl, setting, temporalAddress } = input;
  const database = openDatabase({ url: databaseUrl, connections });
  const targets = await announceAll(database, input);
  // One more for nudges.
  const pool = new pg.Pool({ connectionString: databaseUrl, max: connections + 1 });
  const client = sayingCommits(pool);
  const direct = kafka({ servers: input.brokers });
  const config = {
    database: { url: databaseUrl },
    temporal: { address: temporalAddress },
    topics: targets,
    transports: { kafka: input.noting ? noting(direct, acknowledged) : direct },
  };
  const exporter = setting['metrics'] === 1 ? await openExporter(false) : undefined;
  const relay = input.delivers ? startRelay(config) : undefined;
  await relay?.ready;
  await setPaused({ database }, targets, true);
  return {
    async fill(count, dueAtMs) {
      for (const [index, target] of targets.entries())
        await fill({ database }, target, {
          count: Math.floor((count + index) / targets.length),
          at: dueAtMs === undefined ? undefined : new Date(dueAtMs),
          ...(setting['bytes'] !== undefined && { bytes: Number(setting['bytes']) }),
        });
    },
    async start() {
      await setPaused({ database }, targets, false);
      // The watcher has seen it when it has looked once more.
      await delay(firstLooksMs);
    },
    sendOne: (index) => sendOne(client, targets[0], index, setting['nudged'] !== 0),
    async stop() {
      await relay?.stop();
      await exporter?.stop();
      await direct.close();
      await Promise.all([pool.end(), database.close()]);
    },
  };
}

async function announceAll(
  database: Database,
  { setting, topic: address }: ContenderInput,
): Promise<[BodyTopic, ...BodyTopic[]]> {
  const options = {
    address,
    lanes: Number(setting['lanes'] ?? 2),
    timer: setting['timer'] === 'workflow' ? ('workflow' as const) : ('lane' as const),
  };
  const announced: [BodyTopic, ...BodyTopic[]] = [await announceTopic(database, address, options)];
  for (let n = 1; n < Number(setting['topics'] ?? 1); n += 1)
    announced.push(await announceTopic(database, `${address}-${n}`, options));
  return announced;
}

/** A client of a pool, which says when its transactions have been committed. */
type Client = TransactionRunner<Transaction, (atMs: number) => void>;

/** One client for all transactions, as in a program: it joins the wakings of the relay. */
function sayingCommits(pool: pg.Pool): Client {
  const client = clientOf(pool);
  return {
    async $transaction(work, committed) {
      const result = await client.$transaction(work);
      committed?.(machineClock());
      return result;
    },
    $queryRawUnsafe: (text, ...values) => client.$queryRawUnsafe(text, ...values),
  };
}

async function sendOne(client: Client, target: BodyTopic, index: number, nudged: boolean): Promise<Stored> {
  let committedAtMs = 0;
  const committed = (atMs: number): void => {
    committedAtMs = atMs;
  };
  const work = (tx: Transaction) => send(tx, target, body, { key: `key-${index % 100}` });
  const { id } = await (nudged ? transaction(client, work, committed) : client.$transaction(work, committed));
  return { id, committedAtMs };
}

/** A transport that says when each message was acknowledged. */
function noting(transport: Transport, acknowledged: Acknowledged): Transport {
  return {
    ...transport,
    async publish(batch) {
      const result = await transport.publish(batch);
      acknowledged(
        batch.messages
          .filter((_, index) => result.outcomes[index]?.kind === 'acknowledged')
          .map(({ id }) => id),
      );
      return result;
    },
  };
}
