import type { Lane } from '../core/lane.ts';
import { rest } from '../core/rest.ts';
import type { Database, Session } from '../store/database/database.ts';
import { lanesOfNudge, nudgeChannel } from '../store/lane/nudge.ts';
import { cancelAudited } from '../store/message/cancel-audited.ts';
import { type ReleaseAnswer, readOutcomes, releaseMessages } from '../store/message/release.ts';
import type { DrainAnswer, DrainInput } from './drain-input.ts';
import { Expiry } from './expiry.ts';
import { gather } from './gather.ts';
import { LaneBlockers } from './lane-blockers.ts';
import { LaneDrains } from './lane-drains.ts';
import { type ConfirmingTopic, Overdue } from './overdue.ts';
import type { WorkflowStarter } from './ports.ts';
import type { RelayReport } from './report.ts';
import { StandIns } from './stand-ins.ts';
import { Starter } from './starter.ts';
import { Supervision } from './supervision.ts';
import type { BatchLimits, RelayTimings } from './timings.ts';
import type { TopicRoute } from './topic-route.ts';
import { Watcher } from './watcher.ts';

export interface RelayInput {
  readonly database: Database;
  /** UUID of the installation. */
  readonly installation: string;
  readonly routes: readonly TopicRoute[];
  readonly timings: RelayTimings;
  readonly limits: BatchLimits;
  readonly report: RelayReport;
  /** Topics that ask for receipts. @defaultValue none */
  readonly confirming?: readonly ConfirmingTopic[];
  /** Called with the number of lanes that this process drains, whenever it changes. @defaultValue none */
  readonly draining?: (lanes: number) => void;
  /** Wraps every look at the outbox. @defaultValue none */
  readonly looking?: (round: Promise<number>) => Promise<number>;
}

/** How long a release waits for the outcome, and how often it polls. */
const outcomeWithinMs = 1_000;
const outcomeEveryMs = 25;

/** Delivery by one process, without a workflow engine: the engine is a port, and calls back. */
export class Relay {
  readonly #input: RelayInput;
  readonly #routes: ReadonlyMap<string, TopicRoute>;
  readonly #drains: LaneDrains;
  readonly #supervision: Supervision;
  readonly #standIns: StandIns;
  readonly #starter: Starter;
  readonly #overdue: Overdue;
  readonly #expiry: Expiry;
  readonly #watcher: Watcher;
  readonly #releaseOf = gather((ids) => this.#releaseAll(ids));
  readonly #outcomeOf = gather((ids) => readOutcomes(this.#input.database, ids));
  #session: Session | undefined;

  constructor(input: RelayInput) {
    const { database, report, routes, timings } = input;
    this.#input = input;
    this.#drains = new LaneDrains(input.draining ?? (() => undefined));
    this.#routes = new Map(routes.map((route) => [route.name, route]));
    this.#supervision = new Supervision(report);
    this.#standIns = new StandIns({
      drain: (lane, signal, progress) => this.#standIn(lane, signal, progress),
      ask: (start) => this.#supervision.ask(start),
      left: () => void this.#starter.startLanes(),
      report,
    });
    this.#starter = new Starter({
      database,
      supervision: this.#supervision,
      standIns: this.#standIns,
      topics: routes.map((route) => route.name),
      report,
    });
    this.#overdue = new Overdue(database, input.confirming ?? [], report);
    this.#expiry = new Expiry(database, report);
    this.#watcher = new Watcher({
      database,
      drains: this.#drains,
      starter: this.#starter,
      overdue: this.#overdue,
      blockers: new LaneBlockers(database, report),
      expiry: this.#expiry,
      punctualTopics: routes.filter((route) => route.rules.timer === 'lane').map((route) => route.name),
      timings,
      report,
      looking: input.looking ?? ((round) => round),
    });
  }

  /** Number of batches that are claimed and not settled: a stop waits for them. */
  get inHand(): number {
    return this.#drains.inHand;
  }

  /** Opens the session of this process, which the lanes that it drains are tied to. */
  async open(): Promise<void> {
    this.#session = await this.#input.database.openSession(nudgeChannel, (payload) =>
      this.#watcher.nudge(lanesOfNudge(payload)),
    );
  }

  /** Begins to watch the outbox, and to drain lanes that nobody drains. */
  start(): void {
    this.#watcher.start();
  }

  /** From now on workflows are started, and take over the lanes that this relay drains without them. */
  supervise(workflows: WorkflowStarter): void {
    this.#supervision.begin(workflows);
  }

  /** Resolves when the lanes that nobody drained at the start have sent their first batches, or there are none. */
  async begun(): Promise<void> {
    await Promise.all([this.#starter.startLanes(), this.#starter.startOrphans()]);
    await this.#standIns.begun();
  }

  /** Stops watching and starting. Drains of workflows end by the signals of their callers. */
  async stop(): Promise<void> {
    await this.#watcher.stop();
    await Promise.all([this.#starter.stop(), this.#standIns.stop()]);
    await Promise.all([this.#overdue.stop(), this.#expiry.stop()]);
    this.#supervision.stop();
  }

  /** Ends the session. To be called after all drains have ended. */
  async close(): Promise<void> {
    await this.#session?.stop();
  }

  knows(topic: string): boolean {
    return this.#routes.has(topic);
  }

  /** Drains a lane of a known topic for its workflow, until it is quiet, its time is over, or the signal fires. */
  drain(lane: Lane, signal: AbortSignal, progress: () => void): Promise<DrainAnswer> {
    return this.#drain(lane, { signal, progress });
  }

  async #standIn(lane: Lane, signal: AbortSignal, progress: () => void): Promise<DrainAnswer> {
    // A drain of the workflow runs or waits here, and must not be ended by its stand-in.
    if (this.#drains.has(lane)) return 'taken';
    const answer = await this.#drain(lane, { signal, progress, standIn: true });
    return this.#drains.has(lane) ? 'taken' : answer;
  }

  async #drain(
    lane: Lane,
    caller: Pick<DrainInput, 'progress' | 'signal' | 'standIn'>,
  ): Promise<DrainAnswer> {
    const route = this.#routes.get(lane.topic);
    if (route === undefined)
      throw new Error(`The topic "${lane.topic}" is not in this relay's configuration.`);
    const { database, installation, timings, limits, report } = this.#input;
    return this.#drains.run(lane, {
      database,
      route,
      source: `/outbox/${installation}`,
      timings,
      limits,
      ...caller,
      report: (event) => {
        if (event.type === 'batch-settled') this.#standIns.settled(lane);
        report(event);
      },
      session: () => this.#session?.current(),
    });
  }

  /** Makes a due message ready, wakes its lane, and waits briefly for the outcome. */
  async release(id: string): Promise<ReleaseAnswer> {
    let answer = await this.#releaseOf(id);
    const until = performance.now() + outcomeWithinMs;
    while (answer.kind === 'ready' && performance.now() < until) {
      await rest(outcomeEveryMs);
      answer = await this.#outcomeOf(id);
    }
    return answer;
  }

  async #releaseAll(ids: readonly string[]): Promise<ReadonlyMap<string, ReleaseAnswer>> {
    const { answers, lanes } = await releaseMessages(this.#input.database, ids);
    if (lanes.length > 0) this.#watcher.nudge(lanes);
    return answers;
  }

  /** Cancels a message on behalf of `actor`, with an audit entry. */
  cancel(id: string, actor: string): Promise<'canceled' | 'too-late' | 'unknown'> {
    return cancelAudited(this.#input.database, id, actor);
  }
}
