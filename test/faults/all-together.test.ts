import { setTimeout as delay } from 'node:timers/promises';
import { expect, type TestContext, test } from 'vitest';
import { type LocalNode, startKafka, startTemporal } from '../../dev/servers/index.ts';
import { operations } from '../../src/app/operations/operations.ts';
import { rest } from '../../src/core/rest.ts';
import { openDatabase } from '../../src/store/database/pool.ts';
import { faultMinutes, faultSeeds } from '../support/faults/fault-scale.ts';
import { openFaultStage } from '../support/faults/fault-stage.ts';
import { proxiedDatabase } from '../support/faults/proxied-database.ts';
import { InboxStage } from '../support/fixtures/inbox-stage.ts';
import { judgeLedger, kept, repeats } from '../support/fixtures/ledger.ts';
import { startLedgerLoad } from '../support/fixtures/ledger-load.ts';
import { ownPostgres } from '../support/fixtures/own-postgres.ts';
import { type Random, seededRandom } from '../support/fixtures/random.ts';
import { startStandby } from '../support/fixtures/standby-postgres.ts';
import { until } from '../support/fixtures/until.ts';
import { readTopic } from '../support/kafka/kafka-reader.ts';
import { createTopic, observer } from '../support/kafka/kafka-topic.ts';
import { type RelayProcess, startRelayProcess } from '../support/processes/relay-process.ts';

function nodeOf(server: { readonly node?: LocalNode; readonly nodes?: readonly LocalNode[] }): LocalNode {
  const node = server.node ?? server.nodes?.[0];
  if (node === undefined) throw new Error('This test breaks its servers, so they have to be its own.');
  return node;
}

/** Of everybody's connections, because some of them die without a word. */
const limits = { statementMs: 15_000, lockMs: 5_000 };

/** Servers, a sender, relays and a consumer of one test, behind what can go wrong with each of them. */
async function openWorld(context: TestContext, seed: number) {
  const temporal = await startTemporal({ env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  context.onTestFinished(() => temporal.stop());
  const kafka = await startKafka({ env: { ...process.env, KAFKA_BROKERS: '' } });
  context.onTestFinished(() => kafka.stop());
  const primary = await ownPostgres(context);
  const { proxy, url } = await proxiedDatabase(context, primary.url, seed);
  const standby = await startStandby(context, primary.url);
  const admin = openDatabase({ url: primary.url, connections: 1 });
  // Commits are answered when the standby has them, so a failover forgets none.
  await admin.query(`alter system set synchronous_standby_names = '*'`);
  await admin.query('select pg_reload_conf()');
  await admin.close();

  const brokers = kafka.brokers.join(',');
  const address = await createTopic(observer(brokers), { numPartitions: 3 });
  const database = openDatabase({ url, limits });
  await database.query(
    'create table effect (seq serial primary key, n integer, part integer, consumer text)',
  );
  const inbox = new InboxStage(
    { url, database, drop: () => database.close() },
    brokers,
    address,
    temporal.address,
  );
  context.onTestFinished(() => inbox.end());
  const topics = [inbox.topic];
  const relay = async (): Promise<RelayProcess> => {
    const started = await startRelayProcess({ url, brokers, temporalAddress: temporal.address, topics });
    context.onTestFinished(() => started.end());
    return started;
  };
  const transport = () => {
    throw new Error('Relays are processes of their own here.');
  };
  const stage = openFaultStage(context, { url, topics, transport, limits });
  return { temporal, kafka, primary, standby, proxy, inbox, stage, relay };
}

type World = Awaited<ReturnType<typeof openWorld>>;

/** Every fault by its name; each is over when it resolves. */
function faultsOf(world: World, relays: RelayProcess[], random: Random, bank: { closed: boolean }) {
  const { proxy, stage, kafka, primary, standby } = world;
  const killed = async (node: LocalNode): Promise<void> => {
    await node.stop('SIGKILL');
    await delay(1_000 + random.below(2_000));
    await node.start();
  };
  let failedOver = false;
  return {
    'a relay is killed': async () => {
      const victim = random.pick(relays);
      if (victim === undefined) return;
      victim.signal('SIGKILL');
      await victim.exited;
      relays.splice(relays.indexOf(victim), 1, await world.relay());
    },
    'a relay freezes past its lease': async () => {
      const victim = random.pick(relays);
      victim?.signal('SIGSTOP');
      await delay(12_000);
      victim?.signal('SIGCONT');
    },
    'sessions are ended': async () => {
      await stage.database.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'temporal-outbox session'`,
      );
    },
    'connections are reset': async () => {
      proxy.inject({ kind: 'reset' });
      await delay(200);
      proxy.heal();
    },
    'connections die without a word': async () => {
      proxy.inject({ kind: 'strand' });
      await delay(200);
      proxy.heal();
    },
    'rows of lanes are locked': () =>
      stage.database.transaction(async (sql) => {
        await sql.query('select from outbox.lane for update');
        await delay(3_000);
      }),
    'the broker is killed': () => killed(nodeOf(kafka)),
    'the bank of the handlers is closed': async () => {
      bank.closed = true;
      await delay(5_000);
      bank.closed = false;
    },
    'PostgreSQL is killed': async () => {
      if (failedOver) return;
      await primary.kill();
      await primary.start();
    },
    'PostgreSQL fails over': async () => {
      if (failedOver) return;
      failedOver = true;
      await primary.kill();
      await standby.promote();
      proxy.redirect(standby.address);
    },
  } satisfies Readonly<Record<string, () => Promise<unknown>>>;
}

/** Kills Temporal again and again, so that it is away half of the time. It is there when this resolves. */
async function comeAndGo(temporal: LocalNode, random: Random, signal: AbortSignal): Promise<number> {
  let kills = 0;
  for (; !signal.aborted; kills += 1) {
    const forMs = 3_000 + random.below(12_000);
    await rest(forMs, signal);
    await temporal.stop('SIGKILL');
    await rest(forMs, signal);
    await temporal.start();
  }
  return kills;
}

/** Waits for so many effects: five minutes, and as long as the faults took. Asks rarely: the consumer is in this process. */
async function untilHandled(inbox: InboxStage, wanted: number): Promise<void> {
  await until(async () => (await inbox.effectsBy('only')) >= wanted, 300_000 + faultMinutes * 60_000, 1_000);
}

async function allTogether(context: TestContext, seed: number): Promise<void> {
  const random = seededRandom(seed);
  const world = await openWorld(context, seed);
  const { inbox, stage } = world;
  const bank = { closed: false };
  const relays = [await world.relay(), await world.relay()];
  const consumer = await inbox.consume('only', {
    retry: Array.from({ length: 50 }, () => '1s' as const),
    afterEffect: () => {
      if (bank.closed) throw new Error('the bank is closed');
    },
  });
  const load = startLedgerLoad(stage, inbox.topic, { seed, perSecond: 60, delayed: 0.2 });
  const faults = Object.entries(faultsOf(world, relays, random, bank));
  const over = new AbortController();
  const coming = comeAndGo(nodeOf(world.temporal), seededRandom(seed), over.signal);
  const endAt = performance.now() + faultMinutes * 60_000;
  const done: string[] = [];
  // Each once at least, in an order that the seed decides, then as they come.
  const first = faults.toSorted(() => random.next() - 0.5);
  while (performance.now() < endAt || first.length > 0) {
    const [name, fault] = first.pop() ?? random.pick(faults) ?? ['', () => Promise.resolve()];
    done.push(name);
    await fault().catch((error: unknown) => {
      // A fault may meet another one: who ends sessions has none, for example.
      done.push(`not done: ${String(error)}`);
    });
    await delay(1_000 + random.below(3_000));
  }
  over.abort();
  done.push(`Temporal is killed ${await coming} times, and away half of the time`);
  console.info(`seed ${seed}, ${faultMinutes} min: ${done.join('; ')}`);
  const ledger = await load.stop();
  await stage.untilDone(300_000);

  const log = await readTopic(inbox.kafka, inbox.topic.rules.address);
  expect(judgeLedger(ledger, log)).toEqual(kept);
  const delivered = log.length - repeats(log);
  await untilHandled(inbox, delivered).catch(async () => {
    // What the expectation below does not say.
    console.info(JSON.stringify({ status: await consumer.status(), events: consumer.events.slice(-20) }));
  });
  expect(await inbox.effects(), 'one effect for each message that was delivered').toHaveLength(delivered);
  expect(consumer.counts().failed).toBe(0);
  const operated = operations(inbox.config);
  const { invariants } = await operated.verify();
  await operated.close();
  expect(invariants.filter(({ ok }) => !ok)).toEqual([]);
}

test.for(faultSeeds(31))(
  'I1 I2 I3 I4 I5 I13 F29: whatever is killed, frozen, cut off or failed over at once, every promise is kept (seed %i)',
  { timeout: 600_000 + faultMinutes * 120_000 },
  (seed, context) => allTogether(context, seed),
);
