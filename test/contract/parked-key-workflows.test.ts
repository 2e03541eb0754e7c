import { randomUUID } from 'node:crypto';
import { expect, type TestContext, test } from 'vitest';
import type { ParkedKeyAnswer, Replacing } from '../../src/inbox/ports.ts';
import { parkedKeyEngines } from '../support/engine/parked-key-engines.ts';
import { scriptedBulk } from '../support/engine/scripted-bulk.ts';
import { away, ScriptedCalls, untilEnded } from '../support/engine/scripted-calls.ts';
import { until } from '../support/fixtures/until.ts';

const hour = 3_600_000;
const drained = (): ParkedKeyAnswer => ({ kind: 'drained' });

for (const [of, open] of Object.entries(parkedKeyEngines)) {
  /** An engine for one group, whose drains the test answers. */
  function groupOf(context: TestContext) {
    const addHost = open(context);
    const installation = randomUUID();
    const group = `group-${randomUUID()}`;
    return () => {
      const drains = new ScriptedCalls<ParkedKeyAnswer>();
      const bulk = scriptedBulk();
      const hosted = addHost({
        installation,
        group,
        drains: { drain: (id, signal) => drains.answer(id, signal) },
        bulk: bulk.runner,
        concurrency: 10,
        failed: () => undefined,
      });
      context.onTestFinished(() => hosted.stop());
      const start = (keyId: string, dueInMs = 0, replace: Replacing = 'never'): Promise<void> => {
        const workflowId = `${installation}/parked/${keyId}`;
        return hosted.workflows.start({ keyId, workflowId, topic: 'orders', key: null, dueInMs, replace });
      };
      return { ...hosted, installation, bulk, drains, start };
    };
  }

  test(`${of}: a key is tried when it is due, and again when its drain says so`, async (context) => {
    const { drains, start, workflows } = groupOf(context)();
    drains.plan(
      'a',
      () => ({ kind: 'waiting', inMs: 400 }),
      away,
      () => ({ kind: 'waiting', inMs: 0 }),
      drained,
    );
    expect(workflows.hosting()).toBe(false);
    const startedAt = performance.now();
    await start('a', 500);
    expect(workflows.hosting()).toBe(true);
    await drains.untilCalls('a', 4);

    const [first = 0, second = 0] = drains.of('a').map(({ atMs }) => atMs);
    // Timers of this process may be early by a millisecond.
    expect(first - startedAt).toBeGreaterThan(495);
    expect(second - first).toBeGreaterThan(395);
  });

  for (const kind of ['drained', 'blocked'] as const)
    test(`${of}: the workflow of a key that is ${kind} ends, and may be started again`, async (context) => {
      const { drains, start } = groupOf(context)();
      drains.plan('a', () => ({ kind }));
      await start('a');
      await drains.untilCalls('a', 1);

      await until(async () => {
        await start('a');
        return drains.of('a').length > 1;
      });
    });

  test(`${of}: a key that sleeps is left alone by a start, unless that replaces it`, async (context) => {
    const { drains, start } = groupOf(context)();
    for (const id of ['never', 'if-idle', 'always', 'later']) drains.plan(id, drained);
    for (const replace of ['never', 'if-idle', 'always'] as const) {
      await start(replace, hour);
      await start(replace, 0, replace);
    }
    // What is started later is tried: the others would have been, too.
    await start('later');
    for (const id of ['if-idle', 'always', 'later']) await drains.untilCalls(id, 1);

    expect(drains.of('never')).toEqual([]);
  });

  test(`${of}: a drain goes on through a start that replaces what is idle, and is ended by another`, async (context) => {
    const { drains, start } = groupOf(context)();
    let ended = false;
    drains.plan(
      'a',
      async (call): Promise<ParkedKeyAnswer> => {
        await untilEnded(call);
        ended = true;
        return { kind: 'waiting', inMs: 0 };
      },
      drained,
    );
    drains.plan('later', drained);
    await start('a');
    await drains.untilCalls('a', 1);

    await start('a');
    await start('a', 0, 'if-idle');
    await start('later');
    await drains.untilCalls('later', 1);
    expect([drains.of('a').length, ended]).toEqual([1, false]);

    await start('a', 0, 'always');
    await drains.untilCalls('a', 2);
    await until(() => ended);
  });

  test(`${of}: a host that stops ends its drains and waits for them, and another one goes on`, async (context) => {
    const addHost = groupOf(context);
    const [first, second] = [addHost(), addHost()];
    let settled = false;
    first.drains.plan('a', async (call): Promise<ParkedKeyAnswer> => {
      await untilEnded(call);
      await new Promise(setImmediate);
      settled = true;
      return { kind: 'waiting', inMs: 0 };
    });
    second.drains.plan('a', drained);
    await first.start('a');
    await first.drains.untilCalls('a', 1);
    second.drains.plan('b', drained);
    await second.start('b', hour);

    await first.stop();

    expect(settled).toBe(true);
    await second.drains.untilCalls('a', 1);
    await expect(first.start('b', 0, 'always')).rejects.toThrow('stopped');
    expect(first.drains.all).toHaveLength(1);
  });

  test(`${of}: pages of a bulk operation follow one another until it has ended`, async (context) => {
    const { bulk, bulks, installation } = groupOf(context)();
    await bulks.host();
    await bulks.start({ id: bulk.id, workflowId: `${installation}/bulk/${bulk.id}`, replace: false });

    await bulk.untilEnded();
  });
}
