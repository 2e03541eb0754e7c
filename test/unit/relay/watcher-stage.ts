import { Expiry } from '../../../src/relay/expiry.ts';
import { LaneBlockers } from '../../../src/relay/lane-blockers.ts';
import { LaneDrains } from '../../../src/relay/lane-drains.ts';
import { Overdue } from '../../../src/relay/overdue.ts';
import type { RelayEvent } from '../../../src/relay/report.ts';
import { StandIns } from '../../../src/relay/stand-ins.ts';
import { Starter } from '../../../src/relay/starter.ts';
import { Supervision } from '../../../src/relay/supervision.ts';
import { defaultTimings, type RelayTimings } from '../../../src/relay/timings.ts';
import { Watcher } from '../../../src/relay/watcher.ts';
import { ScriptedDatabase } from '../../support/fixtures/scripted-database.ts';

export const look = 'from outbox.look(';
export const lanes = 'from outbox.want_lanes(';
const walk = 'from outbox.walk_blocked(';
export const untold = 'from outbox.untold_messages(';
export const bulks = 'from outbox.bulk_operation';
export const overdueTopics = 'from unnest($1::text[], $2::timestamptz[]) t(topic, begins)';
export const locks = 'from pg_locks k left join pg_stat_activity';
const expired = 'with over as materialized';
export const [sweep, claim] = ['from outbox.sweep(', 'from outbox.claim('];

export const nothing = { snapshot: '9:9:', incarnation: '1', next: 'n', nextDueInMs: null, topic: null };
export const news = (lane: number, what: object) => ({
  ...nothing,
  topic: 'orders',
  lane,
  ready: false,
  waiting: false,
  xids: null,
  ...what,
});

export const every = (ms: number) => ({ lookIntervalMs: ms, idleLookIntervalMs: ms });

/** A watcher whose database answers as a test says. */
export function stage(timings: Partial<RelayTimings> = {}) {
  const events: RelayEvent[] = [];
  const report = (event: RelayEvent) => void events.push(event);
  const database = new ScriptedDatabase();
  for (const part of [lanes, walk, untold, bulks, overdueTopics, locks, expired]) database.on(part, []);
  database.on(look, [nothing]).on(sweep, [{ released: 0, next: 'n', lanes: '' }]);
  const standIns = new StandIns({
    drain: async () => 'quiet',
    ask: async () => true,
    left: () => undefined,
    report,
  });
  const supervision = new Supervision(report);
  const engine = { terminatedAsked: 0 };
  supervision.begin({
    startLane: async () => undefined,
    startMessage: async () => undefined,
    startBulk: async () => undefined,
    terminatedMessages: async () => {
      engine.terminatedAsked += 1;
      return [];
    },
  });
  const drains = new LaneDrains(() => undefined);
  const confirm = { group: 'g', maxSends: 1, receiptTimeoutMs: [1] };
  const offsets = { passed: async () => undefined };
  const orders = { name: 'orders', address: 'a', transport: 'kafka', visible: true, confirm, offsets };
  const rounds = { count: 0 };
  const watcher = new Watcher({
    database,
    drains,
    starter: new Starter({ database, supervision, standIns, topics: ['orders'], report }),
    overdue: new Overdue(database, [orders], report),
    blockers: new LaneBlockers(database, report),
    expiry: new Expiry(database, report),
    punctualTopics: ['punctual'],
    timings: { ...defaultTimings, ...timings },
    report,
    looking: (round) => {
      rounds.count += 1;
      return round;
    },
  });
  const times = (part: string) => database.valuesOf(part).length;
  const wanted = () => database.valuesOf(lanes).filter(([, orphans]) => orphans === false).length;
  return { watcher, database, drains, events, rounds, engine, times, wanted };
}
