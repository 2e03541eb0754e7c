import { setTimeout as delay } from 'node:timers/promises';
import type { TestContext } from 'vitest';
import { alertsOf } from '../../../src/app/relay/alerts.ts';
import { defineConfig } from '../../../src/config/config.ts';
import { GroupLooks, type WatchedTransport } from '../../../src/relay/group-looks.ts';
import type { RelayEvent } from '../../../src/relay/report.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { memoryTransport } from '../../../src/testing.ts';
import { FigureLooks } from '../../../src/watch/figure-looks.ts';
import type { Alert, OnAlert } from '../../../src/watch/on-alert.ts';
import { createTestDatabase } from '../../support/fixtures/database.ts';
import { numbered } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';

/** When a group of the stage is stalled. */
export const afterMs = 1_000;

const address = 'orders-1';
const group = 'billing';

/** Calls `hook` for each group that stands. */
export const forStalls =
  (hook: OnAlert): OnAlert =>
  async (tx, alert) => {
    if (alert.rule === 'stalledGroup' && alert.overAt === null) await hook(tx, alert);
  };

const note: OnAlert = (tx, { of }) => tx.$queryRawUnsafe('insert into told values ($1)', of.group ?? '');

/** Notes each group that stands in the database. */
export const noteTold = forStalls(note);

/** The same, and here. */
export const noteTo = (seen: Alert[]): OnAlert =>
  forStalls(async (tx, alert) => {
    seen.push(alert);
    await note(tx, alert);
  });

interface Watch {
  readonly onAlert?: OnAlert;
  readonly database?: Database;
  readonly expected?: readonly string[];
  readonly after?: number;
  /** The answer of the broker takes so long. @defaultValue 0 */
  readonly answerMs?: number;
}

/** A database with a table of what was told. */
export async function toldDatabase() {
  const made = await createTestDatabase();
  await made.database.query('create table public.told (name text not null)');
  const told = async () =>
    (await made.database.query<{ name: string }>('select name from told')).map(({ name }) => name);
  return { ...made, told };
}

/** Groups at an address, moved by hand, as a broker tells of them. What Kafka tells is in `unread-partitions.test.ts`. */
function groupsByHand() {
  const ends = new Map<number, number>();
  const places = new Map<string, Map<number, number>>();
  const world = { missing: false };
  const words = (of: ReadonlyMap<number, number> | undefined) =>
    new Map([...(of ?? [])].map(([partition, offset]) => [partition, String(offset)] as const));
  const lagOf = (who: string): number =>
    [...ends].reduce((sum, [partition, end]) => sum + end - (places.get(who)?.get(partition) ?? end), 0);
  const transport: Pick<WatchedTransport, 'offsets' | 'topics'> = {
    offsets: {
      ends: async () => words(ends),
      committed: async (who) => words(places.get(who)),
      lags: async (groups) =>
        groups.filter((who) => places.has(who)).map((who) => ({ group: who, address, messages: lagOf(who) })),
    },
    topics: { missing: async (addresses) => (world.missing ? addresses : []) },
  };
  return {
    transport,
    fill: (partition: number, count = 1) => void ends.set(partition, (ends.get(partition) ?? 0) + count),
    move: (partition: number, offset: number) =>
      void places.set(group, new Map([...(places.get(group) ?? []), [partition, offset]])),
    remove: () => void (world.missing = true),
  };
}

/** An address with groups that are moved by hand, and what watches them. */
export async function stalledStage({ onTestFinished }: Pick<TestContext, 'onTestFinished'>) {
  const made = await toldDatabase();
  const { transport, ...hand } = groupsByHand();
  const events: RelayEvent[] = [];
  const open: { stop(): Promise<void> }[] = [];
  const answers: number[] = [];
  onTestFinished(async () => {
    await Promise.all(open.map((one) => one.stop()));
    await made.drop();
  });
  const looks = async (): Promise<number> => {
    const [row] = await made.database.query<{ number: string }>('select number from outbox.group_look');
    return Number(row?.number ?? 0);
  };
  return {
    ...made,
    ...hand,
    address,
    group,
    events,
    open,
    looks,
    /** The number of answers that each of the watches has had. */
    answers,
    /** Waits until groups have been looked at so often again. */
    async looksMore(count: number) {
      const before = await looks();
      await until(async () => (await looks()) >= before + count, 60_000);
    },
    /** Looks at groups, judges figures and calls the hook, as a relay does. */
    watch({ onAlert = noteTold, database = made.database, after = afterMs, ...more }: Watch = {}) {
      const { answerMs = 0, expected = [] } = more;
      const { offsets } = transport;
      const n = answers.push(0) - 1;
      const report = (event: RelayEvent): void => void events.push(event);
      const lookers = new GroupLooks({
        database,
        transports: [
          {
            ...transport,
            name: 'kafka',
            offsets: {
              ...offsets,
              async lags(groups, addresses) {
                const lags = await offsets.lags(groups, addresses);
                await delay(answerMs);
                answers[n] = (answers[n] ?? 0) + 1;
                return lags;
              },
            },
            addresses: new Map([[address, { expected }]]),
          },
        ],
        groups: async () => [group],
        afterMs: after,
        report,
      });
      const alerts = alertsOf(
        defineConfig({
          database: { url: made.url },
          topics: [numbered('orders')],
          transports: { memory: memoryTransport() },
          alerts: { stalledGroup: after, interval: 100 },
          onAlert,
        }),
        { database, report },
      );
      if (alerts === undefined) throw new Error('The configuration has alerts.');
      const figures = new FigureLooks({
        database,
        everyMs: alerts.everyMs,
        report,
        seen: (noted) => alerts.seen(noted),
      });
      const all = [lookers, alerts, figures];
      const watching = { stop: async () => void (await Promise.all(all.map((one) => one.stop()))) };
      open.push(watching);
      for (const one of all) one.start();
      return watching;
    },
  };
}
