import { expect, test } from 'vitest';
import { startTemporal } from '../../dev/servers/index.ts';
import { send } from '../../src/outbox/send.ts';
import { flawless, judgeJournal } from '../support/fixtures/journal-check.ts';
import { startLoad } from '../support/fixtures/load.ts';
import { numbered, openStage } from '../support/fixtures/stage.ts';
import { until } from '../support/fixtures/until.ts';

const orders = numbered('orders');
const reminders = numbered('reminders');

test('I1 I6 I7 F19: after Temporal was killed and restarted, messages continue and waiting ones are delivered on time', {
  timeout: 240_000,
}, async (context) => {
  const server = await startTemporal({ env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  context.onTestFinished(() => server.stop());
  const { node } = server;
  if (node === undefined) throw new Error('This test kills the server, so it has to be one of its own.');
  const stage = await openStage(context, { topics: [orders, reminders], temporalAddress: server.address });
  const relay = await stage.relay();
  const waiting = await stage.commit((tx) =>
    // When the server has surely started again.
    send(tx, reminders, { n: 1 }, { after: '25 seconds', ref: 'r' }),
  );
  const due = await stage.commit((tx) => send(tx, reminders, { n: 2 }, { after: '3 seconds' }));
  await until(() => relay.events.some(({ type }) => type === 'messages-started'));
  const load = startLoad(stage, orders, { perSecond: 100 });
  await stage.untilArrived(20);

  await node.stop('SIGKILL');
  await until(async () => (await stage.stateOf(due.id)) !== 'waiting', 60_000);
  await node.start();
  const backAtMs = Date.now();

  await until(async () => (await stage.stateOf(due.id)) === 'published', 60_000);
  await until(async () => (await stage.stateOf(waiting.id)) === 'published', 90_000);
  const committed = await load.stop();
  const arrivals = async () => (await stage.journal()).filter(({ address }) => address === 'orders');
  await stage.untilDelivered(committed, 'orders');

  expect(judgeJournal(await arrivals(), committed)).toEqual(flawless);
  const reminded = (await stage.journal()).filter(({ address }) => address === 'reminders');
  expect(reminded.map(({ id }) => id).toSorted()).toEqual([due.id, waiting.id].toSorted());
  const [row] = await stage.database.query<{ dueMs: number }>(
    'select extract(epoch from due_at)::float8 * 1000 as "dueMs" from outbox.message where id = $1',
    [waiting.id],
  );
  const atMs = reminded.find(({ id }) => id === waiting.id)?.atMs ?? Number.NaN;
  const dueMs = row?.dueMs ?? Number.NaN;
  expect(atMs).toBeGreaterThanOrEqual(dueMs);
  // Less than a second where nothing else runs. On a busy machine the server may need longer than until the due time.
  expect(atMs - Math.max(dueMs, backAtMs)).toBeLessThan(10_000);
});
