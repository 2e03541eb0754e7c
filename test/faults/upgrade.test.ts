import { expect, test } from 'vitest';
import { looking } from '../../src/core/loop.ts';
import { reschedule } from '../../src/outbox/change.ts';
import { send } from '../../src/outbox/send.ts';
import { migrate, migrationOf, readMigrations } from '../../src/store/installation/migrate.ts';
import { flawless, judgeJournal } from '../support/fixtures/journal-check.ts';
import { brokenPromises } from '../support/fixtures/kept-promises.ts';
import { startLoad } from '../support/fixtures/load.ts';
import { numbered, openStage, type Stage } from '../support/fixtures/stage.ts';
import { until } from '../support/fixtures/until.ts';

const orders = numbered('orders', { lanes: 2 });
const reminders = numbered('reminders');

/**
 * What a later version may add, so that a relay of before still runs and can be started anew. Tables are locked in the order of
 * writers, who read the topic first: in another order one of them could be the victim of a deadlock.
 */
const compatible = migrationOf(
  '20991231000000_compatible_outbox',
  `-- compatible: yes
   alter table outbox.topic add column later text not null default 'later';
   alter table outbox.lane add column later text;
   alter table outbox.message add column later text;
   create index message_later on outbox.message (later) where later is not null;`,
);
const incompatible = migrationOf(
  '20991231000001_incompatible_outbox',
  '-- compatible: no\ndrop index outbox.message_later;',
);

/** The builds that have worked on a workflow, by its history. */
async function buildsOf(stage: Stage, workflowId: string): Promise<ReadonlySet<string>> {
  const { events } = await stage.temporal.workflow.getHandle(workflowId).fetchHistory();
  return new Set(
    (events ?? []).flatMap(
      (event) => event.workflowTaskCompletedEventAttributes?.workerVersion?.buildId ?? [],
    ),
  );
}

/**
 * Postpones a waiting message again and again, so that it is not due before the last relay of a build has exited, however long that
 * takes. A later time leaves it its workflow; an earlier one would replace that.
 *
 * @returns ends that, and resolves to all answers
 */
function keepWaiting(stage: Stage, id: string): () => Promise<ReadonlySet<string>> {
  const answers = new Set<string>();
  const postpone = (): Promise<string> =>
    stage.commit((tx) => reschedule(tx, reminders, { id }, { after: '60s' })).catch(String);
  const waiting = looking(async () => void answers.add(await postpone()), 1_000);
  waiting.start();
  return async () => {
    await waiting.stop();
    return answers;
  };
}

test('I1 I3 I11 F24 F26: relays of two builds deliver concurrently after a compatible migration, and the new one completes what the old one began', {
  tags: ['order-per-key'],
}, async (context) => {
  const stage = await openStage(context, { topics: [orders, reminders] });
  const own = await readMigrations();
  const first = await stage.relayProcess({ buildId: 'build-1' });
  const load = startLoad(stage, orders, { perSecond: 300 });
  const begun = await stage.commit((tx) => send(tx, reminders, { n: 1 }, { after: '60s' }));
  const postponed = keepWaiting(stage, begun.id);
  context.onTestFinished(() => void postponed());
  await until(
    async () => (await buildsOf(stage, begun.workflowId).catch(() => new Set())).has('build-1'),
    60_000,
  );

  await migrate(stage.database, [...own, compatible]);
  await stage.untilArrived(600);
  first.signal('SIGTERM');
  await first.exited;
  const old = await stage.relayProcess({ buildId: 'build-1' });
  await stage.untilArrived(600);

  await stage.relayProcess({ buildId: 'build-2' });
  await stage.untilArrived(600);
  old.signal('SIGTERM');
  await old.exited;
  expect(await postponed()).toEqual(new Set(['rescheduled']));
  await stage.untilArrived(600);

  const committed = await load.stop();
  await stage.untilDelivered(committed, 'orders');
  expect(await stage.temporal.workflow.getHandle(begun.workflowId).result()).toMatchObject({
    state: 'published',
  });
  expect(await buildsOf(stage, begun.workflowId)).toEqual(new Set(['build-1', 'build-2']));
  const arrived = (await stage.journal()).filter(({ address }) => address === 'orders');
  expect(await brokenPromises(stage.database)).toEqual([]);
  expect(judgeJournal(arrived, committed)).toEqual(flawless);

  await migrate(stage.database, [...own, compatible, incompatible]);
  await expect(stage.relayProcess({ buildId: 'build-1' })).rejects.toThrow('OUTBOX_MIGRATION_UNKNOWN');
});
