import { inject, type TestContext } from 'vitest';
import type { LocalKafka } from '../../../dev/servers/index.ts';
import { operations } from '../../../src/app/operations/operations.ts';
import { kafkaConnection } from '../../../src/brokers/kafka/transport/kafka-options.ts';
import { kafkaOver } from '../../../src/brokers/kafka/transport/kafka-transport.ts';
import type { FaultProxy } from '../faults/fault-proxy.ts';
import { type FaultStage, openFaultStage } from '../faults/fault-stage.ts';
import { createTestDatabase } from '../fixtures/database.ts';
import { InboxStage } from '../fixtures/inbox-stage.ts';
import { judgeLedger, type LedgerVerdict, type Logged, repeats } from '../fixtures/ledger.ts';
import { type LedgerLoad, startLedgerLoad } from '../fixtures/ledger-load.ts';
import { until } from '../fixtures/until.ts';
import { readTopic } from './kafka-reader.ts';

export interface KafkaFaultOptions {
  readonly kafka: LocalKafka;
  readonly seed: number;
  /** Between the relay and the only broker. All other clients connect to the broker directly. */
  readonly proxy?: FaultProxy;
  /** A topic that exists. @defaultValue a new one of three partitions */
  readonly address?: string;
  /** @defaultValue 1,000 */
  readonly requestTimeoutMs?: number;
  /** Messages of the load. @defaultValue 200 */
  readonly perSecond?: number;
}

/** A Kafka to break, with an outbox before it, an inbox behind it, and a load that starts at once. */
export interface KafkaFaultFixture {
  readonly stage: FaultStage;
  readonly inbox: InboxStage;
  readonly load: LedgerLoad;
  /** All records of the topic, in order. */
  log(): Promise<readonly Logged[]>;
  /** Number of messages that are acknowledged and settled so far. */
  settled(): Promise<number>;
  /** Waits until this many more are settled. @defaultValue `withinMs` 90,000 */
  untilSettled(more: number, withinMs?: number): Promise<void>;
  /** Stops the load, waits until every message has reached a final state, and returns what the log holds. */
  finish(): Promise<Finished>;
}

/** The result of a run. */
export interface Finished {
  readonly log: readonly Logged[];
  readonly verdict: LedgerVerdict;
  /** Records beyond the first of each message. */
  readonly repeats: number;
  /** Total attempts counted for messages: an outage uses none. */
  readonly attempts: number;
  /** What `temporal-outbox verify` reports as broken. */
  readonly broken: readonly string[];
}

const partitions = 3;

/** Sets up the fixture; everything except the broker ends with the test. */
export async function kafkaFaultFixture(
  context: TestContext,
  { kafka, seed, proxy, address, requestTimeoutMs = 1_000, perSecond = 200 }: KafkaFaultOptions,
): Promise<KafkaFaultFixture> {
  const brokers = kafka.brokers.join(',');
  const inbox =
    address === undefined
      ? await InboxStage.create(partitions, brokers)
      : new InboxStage(await createTestDatabase(), brokers, address);
  context.onTestFinished(() => inbox.end());
  const settings = kafkaConnection({ servers: brokers, requestTimeout: requestTimeoutMs });
  const stage = openFaultStage(context, {
    url: inbox.url,
    topics: [inbox.topic],
    temporalAddress: inject('temporalAddress'),
    // As if the broker advertised the proxy: every address in the metadata leads to it.
    transport: () => kafkaOver(settings, proxy && (() => ({ host: '127.0.0.1', port: proxy.port }))),
  });
  const load = startLedgerLoad(stage, inbox.topic, { seed, perSecond });
  const log = (): Promise<readonly Logged[]> => readTopic(inbox.kafka, inbox.topic.rules.address);
  const settled = async (): Promise<number> => {
    const [row] = await stage.database.query<{ sum: number }>(
      'select coalesce(sum(count), 0)::integer as sum from outbox.batch',
    );
    return row?.sum ?? Number.NaN;
  };
  async function broken(): Promise<readonly string[]> {
    const operated = operations(inbox.config);
    try {
      const { invariants } = await operated.verify();
      return invariants.filter(({ ok }) => !ok).map((result) => JSON.stringify(result));
    } finally {
      await operated.close();
    }
  }

  return {
    stage,
    inbox,
    load,
    log,
    settled,
    async untilSettled(more, withinMs = 90_000) {
      const before = await settled();
      await until(async () => (await settled()) >= before + more, withinMs);
    },
    async finish() {
      const ledger = await load.stop();
      await stage.untilDone();
      const records = await log();
      return {
        log: records,
        verdict: judgeLedger(ledger, records),
        repeats: repeats(records),
        attempts: await stage.attempts(),
        broken: await broken(),
      };
    },
  };
}
