import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { RunningRelay } from '../src/config/start-relay.ts';
import type { Lane } from '../src/core/lane.ts';
import { type LaneProgress, planSettlement } from '../src/relay/plan-settlement.ts';
import { publishBatch } from '../src/relay/publish-batch.ts';
import { defaultBatchLimits } from '../src/relay/timings.ts';
import { claim } from '../src/store/lane/claim.ts';
import { acquireLane } from '../src/store/lane/lease.ts';
import { settle } from '../src/store/lane/settle.ts';
import { readLanes } from '../src/store/lane/topics.ts';
import type { Transport } from '../src/transports/transport.ts';
import {
  type BodyTopic,
  createTopic,
  fill,
  publishedCount,
  type Stage,
  setPaused,
  warmUpShare,
} from './workload.ts';

const lanes = 2;
const deadlineMs = 60_000;

/** Messages per second of full lanes with the whole product: starter, Temporal, drains. */
export async function drainByRelay(
  stage: Stage,
  count: number,
  relayOf: (topic: BodyTopic) => RunningRelay,
): Promise<number> {
  const target = await createTopic(stage, 'drain-ours', { lanes });
  const relay = relayOf(target);
  try {
    await relay.ready;
    await setPaused(stage, target, true);
    await fill(stage, target, count);
    await setPaused(stage, target, false);
    await untilPublished(stage, target, count);
    return await drainedPerSecond(stage, target, count);
  } finally {
    await relay.stop();
  }
}

/** The same with a bare loop: the same store and transport functions, without Temporal, starter and watcher. */
export async function drainByBareLoop(stage: Stage, count: number, transport: Transport): Promise<number> {
  const target = await createTopic(stage, 'drain-bare', { lanes });
  await fill(stage, target, count);
  const owned = await readLanes(stage.database, [target.name]);
  await Promise.all(owned.map((lane) => bareLoop(stage, lane, target, transport)));
  return drainedPerSecond(stage, target, count);
}

async function bareLoop(stage: Stage, lane: Lane, target: BodyTopic, transport: Transport): Promise<void> {
  const owner = randomUUID();
  const acquired = await acquireLane(stage.database, lane, owner);
  if (acquired === undefined) throw new Error('The lane of the bare loop is taken.');
  const partitions = (await transport.partitionCount?.(target.rules.address)) ?? 1;
  const route = { name: target.name, rules: target.rules, transport };
  let progress: LaneProgress = acquired;
  for (;;) {
    const claimed = await claim(stage.database, lane, {
      owner,
      cursor: progress.cursor,
      snapshot: progress.snapshot,
      limit: defaultBatchLimits.messages,
      bytes: defaultBatchLimits.bytes,
      failedBlocks: false,
      suspect: null,
    });
    if (claimed.messages.length === 0) return;
    const { outcomes } = await publishBatch(
      route,
      'bench',
      partitions,
      claimed,
      new AbortController().signal,
    );
    const batchId = randomUUID();
    const plan = planSettlement({ owner, batchId, progress, claim: claimed, outcomes, rules: target.rules });
    if (plan === undefined || !(await settle(stage.database, lane, plan)))
      throw new Error('A batch was not settled.');
    progress = plan;
  }
}

/** The loop of common articles: select a hundred rows, send one, update one. */
export async function drainByArticleLoop(stage: Stage, count: number, transport: Transport): Promise<number> {
  const target = await createTopic(stage, 'drain-loop', {});
  const { database } = stage;
  await database.query('create schema if not exists bench');
  await database.query('drop table if exists bench.t_msg');
  await database.query(
    `create table bench.t_msg (id bigint generated always as identity primary key, body text not null, key text not null,
       status integer not null default 0, fail_count integer not null default 0, next_retry timestamptz,
       created timestamptz not null default now(), updated timestamptz not null default now())`,
  );
  await database.query('create index on bench.t_msg (status, next_retry)');
  await database.query(
    `insert into bench.t_msg (body, key) select '{"text":"' || repeat('x', 236) || '"}', 'key-' || (i % 1000) from generate_series(1, $1::integer) i`,
    [count],
  );
  const partitions = (await transport.partitionCount?.(target.rules.address)) ?? 1;
  const { signal } = new AbortController();
  const startedAt = performance.now();
  for (;;) {
    const rows = await database.query<{ id: string; body: string; key: string }>(
      'select id, body, key from bench.t_msg where status = 0 order by id limit 100',
    );
    if (rows.length === 0) return perSecond(count, startedAt);
    for (const row of rows) {
      const message = { id: row.id, key: row.key, payload: row.body, headers: {} };
      const { outcomes } = await transport.publish({
        address: target.rules.address,
        partitions,
        messages: [message],
        signal,
      });
      if (outcomes[0]?.kind !== 'acknowledged')
        throw new Error('A message of the articles’ loop was not acknowledged.');
      await database.query('update bench.t_msg set status = 1, updated = now() where id = $1', [row.id]);
    }
  }
}

/** According to the recorded batches, from the end of the warm-up to the last message. */
async function drainedPerSecond(stage: Stage, target: BodyTopic, count: number): Promise<number> {
  const [row] = await stage.database.query<{ perSecond: number }>(
    `with drained as (
       select b.published_at as at, sum(b.count) over (order by b.published_at) as done from outbox.batch b where b.topic = $1
     ), warm as (
       select d.at, d.done from drained d where d.done >= $2::float8 order by d.at limit 1
     )
     select round((max(d.done) - max(w.done)) / extract(epoch from max(d.at) - max(w.at)))::integer as "perSecond"
     from drained d, warm w`,
    [target.name, warmUpShare * count],
  );
  if (row === undefined) throw new Error(`${target.name} was not drained.`);
  return row.perSecond;
}

async function untilPublished(stage: Stage, target: BodyTopic, count: number): Promise<void> {
  const until = performance.now() + deadlineMs;
  while ((await publishedCount(stage, target)) < count) {
    if (performance.now() > until) throw new Error(`${target.name} was not drained within ${deadlineMs} ms.`);
    await delay(20);
  }
}

function perSecond(count: number, startedAt: number): number {
  return Math.round((count * 1_000) / (performance.now() - startedAt));
}
