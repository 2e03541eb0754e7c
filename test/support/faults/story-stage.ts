import { once } from 'node:events';
import { createServer } from 'node:http';
import { Client } from '@temporalio/client';
import pg from 'pg';
import { expect, inject, type TestContext } from 'vitest';
import { z } from 'zod';
import { freePort, startKafka } from '../../../dev/servers/index.ts';
import { clientOf, consumer, permanent } from '../../../src/consumer.ts';
import { receiptsAddress } from '../../../src/core/receipt.ts';
import { type Topic, topic } from '../../../src/index.ts';
import { type Operations, operations } from '../../../src/operations.ts';
import { readInstallation } from '../../../src/store/installation/installation.ts';
import { openExporter } from '../../../src/telemetry/exporter.ts';
import { kafka } from '../../../src/transports.ts';
import { hookServer } from '../fixtures/alert-receivers.ts';
import { testAuthority } from '../fixtures/certificates.ts';
import { type CliProcess, startProcess } from '../fixtures/cli-process.ts';
import { createTestDatabase } from '../fixtures/database.ts';
import { startPrometheus } from '../fixtures/prometheus.ts';
import { connectTemporal } from '../fixtures/temporal-connection.ts';
import { createTopic, observer, untilServed } from '../kafka/kafka-topic.ts';
import { builtProgram } from '../processes/built-program.ts';
import type { StoryRelaySettings } from '../processes/story-relay-main.ts';
import { AlertStory } from './alert-story.ts';
import { startFaultProxy } from './fault-proxy.ts';

/** Everything that a story of alerts breaks, and what repairs it. */
export type StoryStage = Awaited<ReturnType<typeof storyStage>>;

/** A relay of the story, in a process of its own. */
export interface StoryRelay extends CliProcess {
  /** How many lanes of this topic it drains, by its own metrics. */
  readonly lanesOf: (topic: string) => Promise<number>;
}

/** What a handler does with a message. */
export interface Billing {
  /** It waits here, if it is closed, before the message `stuckAt`. */
  gate: Promise<void>;
  /** It refuses everything below 0: -1 for good, others for now. */
  refusing: boolean;
}

/** So many that a relay which ends leaves more of them to others than `OutboxLanesTakenOver` allows. */
export const lanesOfJobs = 40;

const numbered = z.object({ n: z.number(), filling: z.string().optional() });

/** Two relays in processes of their own, a Kafka of its own, a consumer, and a Prometheus that scrapes them. All of it ends with the test. */
export async function storyStage(context: TestContext) {
  const { onTestFinished } = context;
  const [metricsPort, ...relayPorts] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
  ];
  const prometheus = await startPrometheus(context, { ports: [metricsPort, ...relayPorts], minuteMs: 500 });
  const [broker, made, temporal] = await Promise.all([
    startKafka({ env: { ...process.env, KAFKA_BROKERS: '' } }),
    createTestDatabase(),
    startFaultProxy(inject('temporalAddress')),
  ]);
  onTestFinished(async () => {
    await Promise.all([broker.stop(), temporal.close(), made.drop()]);
  });
  const [node] = broker.nodes;
  if (node === undefined) throw new Error('This test kills the broker, so it has to be one of its own.');
  const brokers = broker.brokers.join(',');
  const seen = observer(brokers);
  await createReceipts(seen);
  const authority = testAuthority('story');
  const hook = await hookServer(context);
  const options = {
    orders: { transport: 'kafka', address: await createTopic(seen), timer: 'lane', retry: ['1h'] },
    invoices: {
      transport: 'kafka',
      address: await createTopic(seen, { configEntries: [{ name: 'max.message.bytes', value: '5000' }] }),
      confirm: { group: 'billing', receiptTimeout: '1s' },
    },
    jobs: { transport: 'kafka', address: await createTopic(seen), lanes: lanesOfJobs },
    // Nothing is sent to it: a relay reads the certificates of transports that have a topic.
    hooks: { transport: 'http', address: hook.url },
  } as const;
  const topics = {
    orders: topic('orders', numbered, options.orders),
    invoices: topic('invoices', numbered, options.invoices),
    jobs: topic('jobs', numbered, options.jobs),
  };
  const connection = await connectTemporal();
  onTestFinished(() => connection.close());
  const pool = new pg.Pool({ connectionString: made.url, max: 20 });
  onTestFinished(() => pool.end());
  const config = {
    database: { url: made.url },
    temporal: { address: temporal.address },
    topics: Object.values(topics),
    transports: { kafka: kafka({ servers: brokers }) },
  };
  const operator: Operations = operations(config);
  onTestFinished(() => operator.close());
  const client = clientOf(pool);
  await metricsPage(context, metricsPort);
  const settings: Omit<StoryRelaySettings, 'port' | 'tls'> = {
    database: config.database,
    temporal: config.temporal,
    brokers,
    topics: Object.entries(options).map(([name, given]) => ({ name, options: given })),
    timings: { laneIdleTimeoutMs: 60_000, reconcileIntervalMs: 2_000, archiveIntervalMs: 1_000 },
    alerts: {
      oldestDue: '5s',
      unannounced: '2s',
      // A broker that is back needs some seconds until a consumer has joined again.
      receipts: '15s',
      lateness: '1s',
      hold: '500ms',
      stalledGroup: '3s',
      drift: 0,
      successRate: 0.95,
      // A relay that starts says for some seconds that Temporal is away.
      serverAway: '8s',
      interval: '500ms',
      to: { webhook: { url: hook.url } },
    },
  };
  return {
    brokers,
    client,
    database: made.database,
    hook,
    node,
    operator,
    pool,
    prometheus,
    seen,
    temporal,
    topics,
    story: new AlertStory(hook, prometheus),
    installation: await readInstallation(made.database),
    workflows: new Client({ connection }),
    consume: (billing: Billing) => consume({ client, config, context, billing, topics }),
    /** @param days how long the client certificate that it loads is valid */
    relay: async (index: number, days = 365) => {
      const tls = { ca: authority.ca, ...authority.issueFor(days) };
      return startStoryRelay(context, { ...settings, tls, port: relayPorts[index] ?? 0 });
    },
  };
}

/** The topic of receipts, which a new Kafka lacks. */
async function createReceipts(seen: ReturnType<typeof observer>): Promise<void> {
  const admin = seen.admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic: receiptsAddress, numPartitions: 1, replicationFactor: 1 }] });
  await admin.disconnect();
  await untilServed(seen, receiptsAddress);
}

/** What this process measures, as an application with a consumer serves it. */
async function metricsPage({ onTestFinished }: TestContext, port: number): Promise<void> {
  const exporter = await openExporter(false);
  const server = createServer((_request, response) => {
    void exporter
      .text()
      .then((text) => response.setHeader('content-type', 'text/plain; version=0.0.4').end(text));
  }).listen(port, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await exporter.stop();
  });
}

async function startStoryRelay(context: TestContext, settings: StoryRelaySettings): Promise<StoryRelay> {
  const relay = startProcess(context, [builtProgram('story-relay-main'), JSON.stringify(settings)]);
  await expect.poll(() => relay.stdout() + relay.stderr(), { timeout: 120_000 }).toContain('delivering');
  const owned = (topicName: string) =>
    new RegExp(`^outbox_lanes_owned\\{[^}]*messaging_destination_name="${topicName}"[^}]*\\} (\\d+)$`, 'm');
  return {
    ...relay,
    async lanesOf(topicName) {
      const page = await fetch(`http://127.0.0.1:${settings.port}/metrics`);
      return Number(owned(topicName).exec(await page.text())?.[1] ?? 0);
    },
  };
}

interface ConsumeInput {
  readonly client: ReturnType<typeof clientOf<pg.PoolClient>>;
  readonly config: Parameters<typeof consumer>[1]['config'];
  readonly context: TestContext;
  readonly billing: Billing;
  readonly topics: Readonly<Record<'orders' | 'invoices', Topic<z.infer<typeof numbered>>>>;
}

async function consume({ billing, client, config, context, topics }: ConsumeInput) {
  const running = await consumer(client, {
    config,
    group: 'billing',
    batch: { size: 500 },
    quickRetries: [],
    retry: ['1h'],
    breaker: false,
    transactionTimeout: '60s',
    logger: false,
  })
    .on(topics.orders, async (_tx, { payload: { n } }) => {
      await billing.gate;
      if (!billing.refusing || n >= 0) return;
      const error = new Error('the bank is closed');
      throw n === -1 ? permanent(error) : error;
    })
    .on(topics.invoices, () => billing.gate)
    .start();
  context.onTestFinished(() => running.stop());
  return running;
}
