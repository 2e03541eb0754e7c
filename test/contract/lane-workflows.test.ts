import { randomUUID } from 'node:crypto';
import { expect, type TestContext, test } from 'vitest';
import type { DrainAnswer } from '../../src/relay/drain-input.ts';
import type { LaneStart, MessageStart } from '../../src/store/lane/starts.ts';
import type { ReleaseAnswer } from '../../src/store/message/release.ts';
import { laneEngines } from '../support/engine/lane-engines.ts';
import { scriptedBulk } from '../support/engine/scripted-bulk.ts';
import { away, type ScriptedCall, ScriptedCalls, untilEnded } from '../support/engine/scripted-calls.ts';
import { until } from '../support/fixtures/until.ts';

const done: ReleaseAnswer = { kind: 'done', state: 'published', partition: null, offset: null };

for (const [of, open] of Object.entries(laneEngines)) {
  /** An engine whose activities the test answers. */
  async function engineOf(context: TestContext) {
    const drains = new ScriptedCalls<DrainAnswer>();
    const releases = new ScriptedCalls<ReleaseAnswer>();
    const bulk = scriptedBulk();
    const never = new AbortController().signal;
    const engine = await open(context, {
      relay: {
        drain: ({ topic }, signal) => drains.answer(topic, signal),
        release: (id) => releases.answer(id, never),
      },
      bulk: bulk.runner,
    });
    const { starter, installation } = engine;
    const startLane = (topic: string, replace = false): Promise<void> => {
      const start: LaneStart = { topic, lane: 0, workflowId: `${installation}/lane/${topic}/0`, replace };
      return starter.startLane(start);
    };
    const startMessage = async (dueInMs: number): Promise<string> => {
      const id = randomUUID();
      await starter.startMessage({ ...message, id, dueInMs, workflowId: `${installation}/message/${id}` });
      return id;
    };
    return { ...engine, bulk, drains, releases, startLane, startMessage };
  }
  const message: Omit<MessageStart, 'id' | 'dueInMs' | 'workflowId'> = {
    topic: 'orders',
    key: null,
    ref: null,
    dueAt: '2026-01-01T00:00:00.000Z',
    replace: false,
    visible: true,
  };

  test(`${of}: a lane is drained while there is more, and again when it is started after its end`, async (context) => {
    const { drains, startLane } = await engineOf(context);
    drains.plan(
      'a',
      () => 'more',
      () => 'more',
      () => 'quiet',
    );
    await startLane('a');
    await drains.untilCalls('a', 3);

    await until(async () => {
      await startLane('a');
      return drains.of('a').length > 3;
    });
  });

  test(`${of}: a drain that fails is repeated soon`, async (context) => {
    const { drains, startLane } = await engineOf(context);
    drains.plan('a', away, away, () => 'quiet');
    await startLane('a');

    await drains.untilCalls('a', 3);
  });

  test(`${of}: a lane that runs is not started again, and its drain is ended by a replacement`, async (context) => {
    const { drains, startLane } = await engineOf(context);
    let ended = false;
    const untilReplaced = async (call: ScriptedCall): Promise<DrainAnswer> => {
      await untilEnded(call);
      ended = true;
      return 'quiet';
    };
    drains.plan('a', untilReplaced, () => 'quiet');
    drains.plan('b', () => 'quiet');
    await startLane('a');
    await drains.untilCalls('a', 1);
    await startLane('a');
    // What is started later is drained: a second drain would have begun as well.
    await startLane('b');
    await drains.untilCalls('b', 1);
    expect(drains.of('a')).toHaveLength(1);

    await startLane('a', true);
    await drains.untilCalls('a', 2);
    await until(() => ended);
  });

  test(`${of}: a stop ends what is drained, waits for it, and begins no other drain`, async (context) => {
    const { drains, startLane, ...engine } = await engineOf(context);
    let settled = false;
    drains.plan('a', async (call): Promise<DrainAnswer> => {
      await untilEnded(call);
      await new Promise(setImmediate);
      settled = true;
      return 'more';
    });
    await startLane('a');
    await drains.untilCalls('a', 1);

    await engine.stop();

    expect([settled, drains.of('a').length]).toEqual([true, 1]);
  });

  test(`${of}: a message is released when it is due, and again until it is done`, async (context) => {
    const { releases, startMessage } = await engineOf(context);
    const startedAt = performance.now();
    const id = await startMessage(500);
    releases.plan(
      id,
      () => ({ kind: 'waiting', dueInMs: 400 }),
      () => ({ kind: 'locked' }),
      away,
      () => ({ kind: 'ready' }),
      () => done,
    );
    await releases.untilCalls(id, 5);

    const [first = 0, second = 0] = releases.of(id).map(({ atMs }) => atMs);
    // Timers of this process may be early by a millisecond.
    expect(first - startedAt).toBeGreaterThan(495);
    expect(second - first).toBeGreaterThan(395);
  });

  test(`${of}: pages of a bulk operation follow one another until it has ended`, async (context) => {
    const { bulk, installation, starter } = await engineOf(context);
    await starter.startBulk({ id: bulk.id, workflowId: `${installation}/bulk/${bulk.id}`, replace: false });

    await bulk.untilEnded();
  });
}
