import { randomUUID } from 'node:crypto';
import { kafka } from '../../src/brokers/kafka/transport/kafka-transport.ts';
import type { Transport } from '../../src/brokers/transport.ts';
import type { Lane } from '../../src/core/lane.ts';
import type { LaneProgress } from '../../src/relay/lane-progress.ts';
import { planSettlement } from '../../src/relay/plan-settlement.ts';
import { publishBatch } from '../../src/relay/publish-batch.ts';
import { defaultBatchLimits } from '../../src/relay/timings.ts';
import type { Database } from '../../src/store/database/database.ts';
import { openDatabase } from '../../src/store/database/pool.ts';
import { claim } from '../../src/store/lane/claim.ts';
import { acquireLane } from '../../src/store/lane/lease.ts';
import { settle } from '../../src/store/lane/settle.ts';
import { readLanes } from '../../src/store/lane/topics.ts';
import { announceTopic, type BodyTopic, fill } from '../workload.ts';
import type { Contender, ContenderInput } from './protocol.ts';

/**
 * A bare loop of temporal-outbox's own functions, with the same batches: claim, publish, settle, one after the other for each
 * lane. No Temporal, no watcher, no taking over, and nobody to notice when it stops.
 *
 * Setting: `lanes`.
 */
export async function openBare({ brokers, databaseUrl, setting, topic }: ContenderInput): Promise<Contender> {
  const database = openDatabase({ url: databaseUrl, connections: 8 });
  const target = await announceTopic(database, topic, { lanes: Number(setting['lanes'] ?? 2) });
  const transport = kafka({ servers: brokers });
  let running: Promise<unknown> = Promise.resolve();
  return {
    fill: (count) => fill({ database }, target, { count }),
    async start() {
      const lanes = await readLanes(database, [target.name]);
      running = Promise.all(lanes.map((lane) => deliver(database, lane, target, transport)));
      running.catch(() => undefined);
    },
    async stop() {
      await running;
      await transport.close();
      await database.close();
    },
  };
}

/** Until the lane is empty. */
async function deliver(
  database: Database,
  lane: Lane,
  target: BodyTopic,
  transport: Transport,
): Promise<void> {
  const owner = randomUUID();
  const acquired = await acquireLane(database, lane, owner);
  if (acquired === undefined) throw new Error('The lane of the bare loop is taken.');
  const partitions = (await transport.partitionCount?.(target.rules.address)) ?? 1;
  const route = { name: target.name, rules: target.rules, transport };
  let progress: LaneProgress = acquired;
  for (;;) {
    const claimed = await claim(database, lane, {
      owner,
      cursor: progress.cursor,
      snapshot: progress.snapshot,
      late: progress.late,
      limit: defaultBatchLimits.messages,
      bytes: defaultBatchLimits.bytes,
      failedBlocks: false,
      suspect: null,
    });
    if (claimed.messages.length === 0) return;
    const { signal } = new AbortController();
    const { outcomes } = await publishBatch(route, 'bench', partitions, claimed, signal);
    const batchId = randomUUID();
    const plan = planSettlement({ owner, batchId, progress, claim: claimed, outcomes, rules: target.rules });
    if (plan === undefined || !(await settle(database, lane, plan)))
      throw new Error('A batch was not settled.');
    progress = plan;
  }
}
