import { createServer } from 'node:net';
import { expect, inject, type TestContext, test } from 'vitest';
import { type Stored, send } from '../../../src/outbox/send.ts';
import { refusingServer } from '../../support/faults/refusing-server.ts';
import { numbered, openStage, type Stage } from '../../support/fixtures/stage.ts';
import { untilFailing, untilWell } from '../../support/fixtures/told-health.ts';
import { until } from '../../support/fixtures/until.ts';

const orders = numbered('orders');
const reminders = numbered('reminders');
const alarms = numbered('alarms', { timer: 'lane' });
const topics = [orders, reminders, alarms];

/** A server that accepts connections and says nothing. */
async function silentServer(context: TestContext): Promise<string> {
  const silent = createServer();
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  context.onTestFinished(() => void silent.close());
  return `127.0.0.1:${(silent.address() as { port: number }).port}`;
}

/** Commits one message to be sent now, and one that waits for each kind of timer. */
async function sendAll(stage: Stage): Promise<readonly Stored[]> {
  return stage.commit(async (tx) => [
    await send(tx, orders, { n: 1 }),
    await send(tx, reminders, { n: 2 }, { after: '1 second', ref: 'r' }),
    await send(tx, alarms, { n: 3 }, { after: '1 second' }),
  ]);
}

const untilPublished = (stage: Stage, messages: readonly Stored[]): Promise<void> =>
  until(async () => {
    const states = await Promise.all(messages.map(({ id }) => stage.stateOf(id)));
    return states.every((state) => state === 'published');
  });

test('a relay whose Temporal answers nothing starts on a PostgreSQL that was restarted, delivers on time and stops', {
  tags: ['every-relay-delivers'],
}, async (context) => {
  const stage = await openStage(context, { topics });
  // It would ask for a twin, if it could.
  await stage.database.query(`update outbox.installation set served_since = now() - interval '1 day'`);
  const relay = await stage.relay({ temporalAddress: await silentServer(context) });

  const messages = await sendAll(stage);
  await untilPublished(stage, messages);

  expect((await stage.journal()).map(({ id }) => id)).toHaveLength(3);
  expect(relay.events.filter(({ type }) => type === 'waiting-for-server')).not.toEqual([]);
  await relay.stop();
  const [lanes] = await stage.database.query<{ owned: number }>(
    'select count(owner)::integer as owned from outbox.lane',
  );
  expect(lanes).toEqual({ owned: 0 });
});

test('a relay whose Temporal refuses connections delivers on time, and is supervised as soon as that answers, without a restart', {
  tags: ['every-relay-delivers'],
}, async (context) => {
  const temporal = await refusingServer(context);
  const stage = await openStage(context, { topics });
  const relay = await stage.relay({
    temporalAddress: temporal.address,
    timings: { laneIdleTimeoutMs: 60_000 },
  });
  await untilPublished(stage, await sendAll(stage));
  await untilFailing(relay, 'Temporal');
  const waiting = await stage.commit((tx) => send(tx, reminders, { n: 4 }, { after: '1 hour' }));

  temporal.admit(inject('temporalAddress'));

  await untilWell(relay, 60_000);
  const workflow = stage.temporal.workflow.getHandle(waiting.workflowId);
  await until(async () => {
    const found = await workflow.describe().catch(() => undefined);
    return found?.status.name === 'RUNNING';
  }, 60_000);
  // The lanes that it has drained alone are drained by their workflows now, and nothing is sent twice.
  await until(() => relay.events.some((event) => event.type === 'lane-acquired' && !event.standIn), 60_000);
  expect(await relay.searchAttributes).toBe(true);
  expect(relay.events.filter(({ type }) => type === 'lane-lost')).toEqual([]);
  expect(await stage.arrived()).toBe(3);
});
