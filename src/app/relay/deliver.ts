import type { RelayConfig } from '../../config/config.ts';
import type { ResolvedRelaySettings } from '../../config/relay-settings.ts';
import { rest } from '../../core/rest.ts';
import type { RetentionRules } from '../../core/retention.ts';
import type { Running } from '../../core/running.ts';
import { FailureNotices } from '../../relay/failure-notices.ts';
import { createMaintenance, type Maintenance } from '../../relay/maintenance.ts';
import type { AskPlace, Repeater, WorkflowCensus } from '../../relay/ports.ts';
import { Relay } from '../../relay/relay.ts';
import type { TopicRoute } from '../../relay/topic-route.ts';
import { refuseTwin } from '../../relay/twin.ts';
import type { Database, Sql } from '../../store/database/database.ts';
import { FigureLooks, figuresEveryMs } from '../../watch/figure-looks.ts';
import type { Alerts } from './alerts.ts';
import { type Confirmation, confirmationOf } from './confirmation.ts';
import { askServers } from './relay-health.ts';
import type { RelayMeasures } from './relay-measures.ts';
import type { RelayServers } from './relay-servers.ts';
import { RelaySupervision } from './relay-supervision.ts';
import { completeInBackground } from './unfinished-lanes.ts';

/** The parts of a relay that has reached its servers. */
export interface DeliverInput extends Omit<ResolvedRelaySettings, 'settings'> {
  readonly config: RelayConfig;
  readonly database: Database;
  readonly servers: RelayServers;
  readonly installation: string;
  readonly routes: readonly TopicRoute[];
  readonly retention: RetentionRules;
  readonly draining: (lanes: number) => void;
  /** `undefined`: the configuration has none. */
  readonly alerts: Alerts | undefined;
  /** `undefined`: the process exports no metrics. */
  readonly measures: RelayMeasures | undefined;
}

/** How long Temporal waits until the lanes that nobody drained have sent something: loading its packages takes a processor. */
const firstWithinMs = 3_000;

/** Watches the outbox and drains lanes; Temporal supervises both as soon as it answers. */
export async function deliver(input: DeliverInput, running: Running): Promise<RelaySupervision> {
  const { database, servers, installation, routes, timings } = input;
  const { report, temporal } = servers;
  const { health, stopping } = running;
  const topics = routes.map(({ name }) => name);
  const supervision = new RelaySupervision({
    servers,
    installation,
    intervals: timings,
    topics: topics.length,
    stopping,
    report,
  });
  // Each question waits for a server that restarts just now; a search as a whole takes longer than a server that is away.
  const query: Sql['query'] = (...statement) => servers.database(() => database.query(...statement));
  await refuseTwin({ query }, supervision.askPlace);
  stopping.throwIfAborted();
  const confirmation = confirmationOf(input.config, { database, installation, report });
  running.add(() => confirmation.stop());
  const relay = relayOf(input, confirmation, noticesOf(input, running), running);
  running.inHand(() => relay.inHand > 0);
  const completing = completeInBackground(database, topics, report);
  running.add(() => completing.stop());
  await relay.open();
  running.add(() => relay.close());
  stopping.throwIfAborted();
  health.joined = () => true;
  stopping.addEventListener('abort', () => void askServers(database, temporal, health), { once: true });
  running.add(() => supervision.stop());
  // Stopped first, so that nothing is started for workers that are about to end.
  running.add(() => relay.stop());
  relay.start();
  confirmation.start();
  input.alerts?.start();
  const looks = figureLooksOf(input);
  if (looks !== undefined) running.add(() => looks.stop());
  looks?.start();
  await Promise.race([relay.begun(), rest(firstWithinMs, stopping, { ref: false })]);
  stopping.throwIfAborted();
  await supervision.begin(relay, (census, repeater) =>
    maintenanceOf(input, census, repeater, supervision.askPlace),
  );
  return supervision;
}

function relayOf(
  input: DeliverInput,
  confirmation: Confirmation,
  notices: FailureNotices | undefined,
  { health }: Running,
): Relay {
  const { database, draining, installation, limits, routes, servers, timings } = input;
  return new Relay({
    database,
    installation,
    routes,
    timings,
    limits,
    report(event) {
      servers.report(event);
      if (event.type === 'failed') notices?.nudge();
    },
    confirming: confirmation.topics,
    draining,
    looking: async (round) => {
      const waitMs = await health.during('PostgreSQL', round);
      health.mended('look');
      return waitMs;
    },
  });
}

/** Reads the figures of the database for metrics and alerts; `undefined`: nobody wants them. */
function figureLooksOf({
  alerts,
  database,
  measures,
  retention,
  servers,
}: DeliverInput): FigureLooks | undefined {
  if (measures === undefined && alerts === undefined) return undefined;
  const forMetricsMs = measures === undefined ? Number.POSITIVE_INFINITY : figuresEveryMs;
  return new FigureLooks({
    database,
    everyMs: Math.min(forMetricsMs, alerts?.everyMs ?? figuresEveryMs),
    rules: { archiveAfterMs: retention.archiveAfterMs },
    report: servers.report,
    async seen(noted) {
      measures?.seen(noted);
      await alerts?.seen(noted);
    },
  });
}

/** Calls `onFailed`, if there is one, for what has failed already and what fails from now on. */
function noticesOf(
  { config, database, routes, servers }: DeliverInput,
  running: Running,
): FailureNotices | undefined {
  const { onFailed } = config;
  if (onFailed === undefined) return undefined;
  const topics = toldTopics({ config, routes });
  const notices = new FailureNotices({ database, topics, onFailed, report: servers.report });
  running.add(() => notices.stop());
  notices.start();
  return notices;
}

/** The topics whose failures this relay reports to `onFailed`. */
function toldTopics({ config, routes }: Pick<DeliverInput, 'config' | 'routes'>): readonly string[] {
  return config.onFailed === undefined ? [] : routes.map(({ name }) => name);
}

function maintenanceOf(
  { config, database, retention, routes, servers: { report } }: DeliverInput,
  census: WorkflowCensus,
  repeater: Repeater,
  askPlace: AskPlace,
): Maintenance {
  return createMaintenance({
    database,
    census,
    repeater,
    askPlace,
    retention,
    tellingOf: toldTopics({ config, routes }),
    report,
  });
}
