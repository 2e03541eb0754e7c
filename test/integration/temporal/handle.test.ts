import { beforeAll, expect, test } from 'vitest';
import type { KeyDrains } from '../../../src/inbox/ports.ts';
import { endOfFile } from '../../support/fixtures/end-of-file.ts';
import {
  emptyKey,
  lingeringDrains,
  openParkedStage,
  type ParkedStage,
} from '../../support/fixtures/parked-stage.ts';
import { until } from '../../support/fixtures/until.ts';

async function attributesOf(
  stage: ParkedStage,
  workflowId: string,
): Promise<Readonly<Record<string, unknown>>> {
  const { typedSearchAttributes } = await stage.handleOf(workflowId).describe();
  const pairs = typedSearchAttributes.getAll().map(({ key, value }): [string, unknown] => [key.name, value]);
  return Object.fromEntries(pairs.filter(([name]) => name.startsWith('Outbox')));
}

/** Hosted, for tests that empty it. */
let shared: ParkedStage;
let nudge: () => void;
const file = endOfFile();
beforeAll(async () => {
  shared = await openParkedStage(file);
  const { watcher, hosting } = shared.host();
  nudge = () => watcher.nudge();
  await shared.park('to begin with', 0);
  await hosting;
});

test('a parked key waits in its workflow, is drained when due, and its history holds ids and times only', async () => {
  const stage = shared;
  await stage.untilDrained();
  // Workers run: the three seconds are for the start of one workflow.
  const { keyId, workflowId } = await stage.park('customer-7', 3_000);
  nudge();

  await stage.untilSleeping(workflowId);
  expect(await stage.keys()).toMatchObject([{ keyId }]);
  expect(await stage.handleOf(workflowId).result()).toEqual({ state: 'drained' });

  expect(await stage.keys()).toEqual([]);
  expect(workflowId).toBe(`${stage.installation}/parked/shop/${keyId}`);
  expect(await attributesOf(stage, workflowId)).toEqual({ OutboxTopic: 'orders', OutboxKey: 'customer-7' });
  const history = JSON.stringify(await stage.handleOf(workflowId).fetchHistory());
  expect(history).not.toContain(Buffer.from('a secret').toString('base64'));
});

test('a key that must not or cannot be shown does not prevent the start of its workflow', {
  tags: ['hidden-names-stay-out'],
}, async (context) => {
  const stage = await openParkedStage(context);
  const keyless = await stage.park(null, 0);
  const long = await stage.park('k'.repeat(3 * 1_024), 0);
  const showing = stage.host();
  await stage.untilDrained();
  await showing.stop();
  const secret = await stage.park('customer-7', 0);
  stage.host({ visible: false });
  await stage.untilDrained();

  for (const { workflowId } of [keyless, long, secret])
    expect(await attributesOf(stage, workflowId)).toEqual({ OutboxTopic: 'orders' });
  const description = await stage.handleOf(secret.workflowId).describe();
  expect(await description.staticSummary()).toMatch(/^orders, parked by shop, next try /);
  expect(await description.staticDetails()).not.toContain('customer-7');
});

test('a group may have any name of 512 bytes', async (context) => {
  const start = `a/b "c" 'd' ${'é'.repeat(100)}\n\t😀`;
  const group = start + '/%'.repeat((512 - Buffer.byteLength(start)) / 2);
  const stage = await openParkedStage(context, { group });
  const { workflowId } = await stage.park('k', 0);
  const { failures } = stage.host();

  await stage.untilDrained();
  expect((await stage.handleOf(workflowId).describe()).taskQueue).toBe(
    `${stage.installation}/parked/${group}`,
  );
  expect(failures).toEqual([]);
});

test('the workflow of a key blocked by a failed message ends, and a new one starts after an operator’s decision', async (context) => {
  const stage = await openParkedStage(context);
  const { keyId, workflowId } = await stage.park('k', 0);
  const failing: KeyDrains = {
    async drain() {
      await stage.database.query(`update outbox.parked_key set next_at = 'infinity' where id = $1`, [keyId]);
      return emptyKey(stage.database, keyId);
    },
  };
  const first = stage.host({ drains: failing });
  await until(async () => (await stage.handleOf(workflowId).describe()).status.name === 'COMPLETED');
  expect(await stage.handleOf(workflowId).result()).toEqual({ state: 'blocked' });
  await first.stop();

  await stage.database.query('update outbox.parked_key set next_at = outbox.clock(), told_at = null');
  stage.host();

  await stage.untilDrained();
  expect(await stage.handleOf(workflowId).result()).toEqual({ state: 'drained' });
});

test.for(['cancel', 'terminate'] as const)(
  'a key whose workflow was ended by %s gets another one when its try is overdue',
  async (action) => {
    const stage = shared;
    const { workflowId } = await stage.park('k', 3_600_000);
    nudge();
    await stage.untilSleeping(workflowId);
    const handle = stage.handleOf(workflowId);
    await handle[action]();
    await until(async () => (await handle.describe()).status.name !== 'RUNNING');

    await stage.makeLate(5_000);

    // The one that was ended would have slept for an hour.
    await stage.untilDrained();
    expect(await handle.result()).toEqual({ state: 'drained' });
  },
);

test.for(['cancel', 'terminate'] as const)(
  'a drain in progress is notified of %s, and the key is drained later',
  async (action, context) => {
    const stage = await openParkedStage(context);
    const { workflowId } = await stage.park('k', 0);
    let begun = 0;
    let told = 0;
    const lingering = lingeringDrains(() => (begun += 1));
    const first = stage.host({
      drains: { drain: (...args) => lingering.drain(...args).finally(() => (told += 1)) },
    });
    await until(() => begun === 1);

    await stage.handleOf(workflowId)[action]();

    // With the answer to its next heartbeat, seconds later; by itself it lingers for 30 s.
    await until(() => told === 1, 25_000);
    await first.stop();
    await stage.makeLate(5_000);
    stage.host();
    await stage.untilDrained();
  },
);

test('a try moved to an earlier time does not wait for the workflow that sleeps until later', async () => {
  const stage = shared;
  const { workflowId } = await stage.park('k', 3_600_000);
  nudge();
  await stage.untilSleeping(workflowId);
  await until(async () => (await stage.keys()).every(({ told }) => told));

  await stage.database.query(`update outbox.parked_key set next_at = outbox.clock(), told_at = '-infinity'`);

  await stage.untilDrained();
  expect(await stage.handleOf(workflowId).result()).toEqual({ state: 'drained' });
});

test('a started key without a workflow gets one, and one whose workflow hangs gets another', async (context) => {
  const stage = await openParkedStage(context);
  const lost = await stage.park('lost', 0);
  const hanging = await stage.park('hanging', 0);
  // No worker polls this queue.
  const stuck = await stage.temporal.workflow.start('drainParkedKey', {
    workflowId: hanging.workflowId,
    taskQueue: `${stage.installation}/nobody`,
  });
  await stage.makeLate(30_000);
  stage.host();

  await until(async () => (await stage.keys()).length === 1);
  expect(await stage.handleOf(lost.workflowId).result()).toEqual({ state: 'drained' });
  expect((await stuck.describe()).status.name).toBe('RUNNING');
  await stage.makeLate(61_000);

  await stage.untilDrained();
  const first = stage.temporal.workflow.getHandle(hanging.workflowId, stuck.firstExecutionRunId);
  expect((await first.describe()).status.name).toBe('TERMINATED');
});

test('a failed drain is tried again within seconds, and the others continue', async (context) => {
  const stage = await openParkedStage(context);
  const failing = await stage.park('failing', 0);
  await stage.park('other', 0);
  let failures = 0;
  stage.host({
    drains: {
      async drain(keyId) {
        if (keyId === failing.keyId && (await stage.keys()).length > 1) throw new Error('not yet');
        if (keyId === failing.keyId && (failures += 1) < 3) throw new Error('not now');
        return emptyKey(stage.database, keyId);
      },
    },
  });

  await stage.untilDrained();
  expect(failures).toBe(3);
});

test('a key whose drain waits for one of few slots keeps its workflow, however late it is', {
  tags: ['parked-key-keeps-workflow'],
}, async (context) => {
  const stage = await openParkedStage(context);
  await stage.parkMany(12, 0);
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  let inHand = 0;
  stage.host({
    concurrency: 2,
    drains: {
      async drain(keyId) {
        inHand += 1;
        await opened;
        return emptyKey(stage.database, keyId);
      },
    },
  });
  context.onTestFinished(async () => open());
  await until(async () => inHand === 2 && (await stage.keys()).every(({ told }) => told));
  const runsOf = async (): Promise<readonly string[]> => {
    const described = (await stage.keys()).map(({ workflowId }) => stage.handleOf(workflowId).describe());
    return (await Promise.all(described)).map(({ runId }) => runId).toSorted();
  };
  const pending = async (): Promise<boolean> => {
    const described = (await stage.keys()).map(({ workflowId }) => stage.handleOf(workflowId).describe());
    return (await Promise.all(described)).every(({ raw }) => (raw.pendingActivities ?? []).length === 1);
  };
  await until(pending);
  const before = await runsOf();

  await stage.makeLate(61_000);
  const lookedAt = async (): Promise<number> => {
    const rows = await stage.database.query(
      `select from outbox.parked_key where told_at > outbox.clock() - interval '50 s'`,
    );
    return rows.length;
  };
  await until(async () => (await lookedAt()) === 12);

  expect(await runsOf()).toEqual(before);
  open();
  await stage.untilDrained();
});
