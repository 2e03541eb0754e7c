import { parseArgs } from 'node:util';
import { startRelay } from '../src/config/start-relay.ts';
import { startTogether } from '../src/local/index.ts';
import { applyMigrations } from '../src/operations/schema.ts';
import { openDatabase } from '../src/store/database/pool.ts';
import { kafka } from '../src/transports/kafka/kafka-transport.ts';
import { type ConsumeFigures, type ConsumeSizes, measureConsume } from './consume.ts';
import { drainByArticleLoop, drainByBareLoop, drainByRelay } from './drain.ts';
import { commitToBroker, dueTogether, noting, type Percentiles, type RelayOf } from './lateness.ts';
import { benchTransports, showTransports } from './transports/main.ts';
import { overall, type Stage } from './workload.ts';

interface Sizes {
  readonly rounds: number;
  readonly drained: number;
  readonly looped: number;
  readonly seconds: number;
  readonly due: number;
  readonly consume: ConsumeSizes;
}

const quick: Sizes = {
  rounds: 3,
  drained: 60_000,
  looped: 2_000,
  seconds: 8,
  due: 10_000,
  consume: { rounds: 3, batched: 100_000, single: 5_000, remembered: 100_000 },
};
const full: Sizes = {
  rounds: 5,
  drained: 300_000,
  looped: 5_000,
  seconds: 30,
  due: 10_000,
  consume: { rounds: 5, batched: 300_000, single: 30_000, remembered: 1_000_000 },
};

interface Figures {
  /** Messages per second from the outbox to Kafka, over all rounds. */
  readonly drain: { readonly ours: number; readonly bare: number; readonly loop: number };
  readonly latencyMs: Percentiles;
  readonly latencyPolledMs: Percentiles;
  readonly dueTogetherMs: Percentiles;
  /** Row updates without failures, for what was drained and sent at once. */
  readonly rowUpdates: number;
  readonly consume: ConsumeFigures;
}

/** Progress goes to standard error, so that the last line of standard output is the result. */
function tell(line: string): void {
  process.stderr.write(`${line}\n`);
}

async function measure(stage: Stage, sizes: Sizes): Promise<Figures> {
  const transport = noting(kafka({ brokers: stage.brokers }));
  const relayOf: RelayOf = (target, chosen) =>
    startRelay({
      database: { url: stage.databaseUrl },
      temporal: { address: stage.temporalAddress },
      topics: [target],
      transports: { kafka: chosen },
    });
  try {
    // The first connection, bundle and lane do not count.
    await drainByRelay(stage, 5_000, (target) => relayOf(target, transport));
    await drainByBareLoop(stage, 5_000, transport);
    const ours: number[] = [];
    const bare: number[] = [];
    for (let round = 1; round <= sizes.rounds; round += 1) {
      ours.push(await drainByRelay(stage, sizes.drained, (target) => relayOf(target, transport)));
      bare.push(await drainByBareLoop(stage, sizes.drained, transport));
      tell(`drain, round ${round}: ours ${ours.at(-1)}/s, bare loop ${bare.at(-1)}/s`);
    }
    const loop = await drainByArticleLoop(stage, sizes.looped, transport);
    tell(`drain, loop of the articles: ${loop}/s`);
    transport.acknowledgedAt.clear();
    const { seconds } = sizes;
    const latencyMs = await commitToBroker(stage, relayOf, transport, { seconds, nudged: true });
    tell(`commit to Kafka, nudged: p50 ${latencyMs.p50} ms, p99 ${latencyMs.p99} ms`);
    const latencyPolledMs = await commitToBroker(stage, relayOf, transport, { seconds, nudged: false });
    tell(`commit to Kafka, polled: p50 ${latencyPolledMs.p50} ms, p99 ${latencyPolledMs.p99} ms`);
    const rowUpdates = await countRowUpdates(stage);
    const dueTogetherMs = await dueTogether(stage, relayOf, transport, sizes.due);
    const consume = await measureConsume(stage, sizes.consume, tell);
    tell(`${sizes.due} due at one instant: p50 ${dueTogetherMs.p50} ms, p99 ${dueTogetherMs.p99} ms late`);
    return {
      drain: { ours: overall(ours), bare: overall(bare), loop },
      latencyMs,
      latencyPolledMs,
      dueTogetherMs,
      rowUpdates,
      consume,
    };
  } finally {
    await transport.close();
  }
}

/** A session reports its statistics with a delay, and at its end; the sessions of the relays have ended by now. */
async function countRowUpdates(stage: Stage): Promise<number> {
  await stage.database.query('select pg_stat_force_next_flush()');
  const [row] = await stage.database.query<{ updates: string }>(
    `select n_tup_upd as updates from pg_stat_user_tables where schemaname = 'outbox' and relname = 'message'`,
  );
  return Number(row?.updates ?? 0);
}

function show({ drain, latencyMs, latencyPolledMs, dueTogetherMs, rowUpdates, consume }: Figures): string {
  const line = (what: string, value: string): string => `${what.padEnd(44)}${value}`;
  const rates = (ours: number, bare: number): string =>
    `${ours} messages/s (bare kafkajs ${bare}, ours: ${(ours / bare).toFixed(2)} of it)`;
  const times = ({ p50, p99 }: Percentiles): string => `p50 ${p50} ms, p99 ${p99} ms`;
  return [
    line('Outbox to Kafka, temporal-outbox', `${drain.ours} messages/s`),
    line(
      '  the same functions in a bare loop',
      `${drain.bare} messages/s (ours: ${(drain.ours / drain.bare).toFixed(2)} of it)`,
    ),
    line(
      '  scan 100, send one, update one',
      `${drain.loop} messages/s (ours: ${(drain.ours / drain.loop).toFixed(0)} times)`,
    ),
    line('Commit to Kafka at 200/s, through transaction()', times(latencyMs)),
    line('  by polling alone', times(latencyPolledMs)),
    line('10,000 due at one instant, late by', times(dueTogetherMs)),
    line('Rows updated on the good way', String(rowUpdates)),
    line('Kafka to database, in batches', rates(consume.batch, consume.bareBatch)),
    line('Kafka to database, a transaction each', rates(consume.single, consume.bareSingle)),
    line('  processed before, in batches', `${consume.replay} messages/s`),
    line(
      `Memory over ${consume.memory.messages} messages`,
      `${consume.memory.earlyMb} MB, later at most ${consume.memory.latestMb} MB`,
    ),
  ].join('\n');
}

const { values: flags, positionals } = parseArgs({
  options: { quick: { type: 'boolean' }, json: { type: 'boolean' }, only: { type: 'string' } },
  allowPositionals: true,
});

async function transports(): Promise<void> {
  const sizes = flags.quick ? { rounds: 3, messages: 20_000 } : { rounds: 5, messages: 100_000 };
  const figures = await benchTransports(flags.only, { ...sizes, tell });
  process.stdout.write(`${flags.json ? JSON.stringify(figures) : showTransports(figures)}\n`);
}

async function outbox(): Promise<void> {
  const servers = await startTogether({ env: process.env, progress: tell });
  const database = openDatabase({ url: servers.postgres.url, connections: 8 });
  try {
    await applyMigrations(servers.postgres);
    const stage: Stage = {
      database,
      databaseUrl: servers.postgres.url,
      temporalAddress: servers.temporal.address,
      brokers: servers.kafka.brokers,
    };
    const figures = await measure(stage, flags.quick ? quick : full);
    process.stdout.write(`${flags.json ? JSON.stringify(figures) : show(figures)}\n`);
  } finally {
    await database.close();
    await servers.stop();
  }
}

if (positionals[0] === 'transports') await transports();
else await outbox();
