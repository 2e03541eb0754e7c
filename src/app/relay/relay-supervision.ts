import { aborted, rest } from '../../core/rest.ts';
import type { Maintenance } from '../../relay/maintenance.ts';
import type { AskPlace, Repeater, WorkflowCensus } from '../../relay/ports.ts';
import type { Relay } from '../../relay/relay.ts';
import type { RelayReport } from '../../relay/report.ts';
import type { MaintenanceIntervals } from '../../relay/timings.ts';
import type { Engine } from '../../temporal/relay/engine.ts';
import type { RelayServers } from './relay-servers.ts';

/** How long a question to other relays waits for Temporal: as long as for their answer. */
const askWithinMs = 3_000;
/** Between tries to supervise. */
const againMs = 2_000;

export interface RelaySupervisionInput {
  readonly servers: Pick<RelayServers, 'engine'>;
  readonly installation: string;
  readonly intervals: MaintenanceIntervals;
  /** How many topics the relay delivers. */
  readonly topics: number;
  /** Fires when the relay begins to stop. */
  readonly stopping: AbortSignal;
  readonly report: RelayReport;
}

/** Makes the maintenance of a relay, as soon as Temporal answers. */
type MakeMaintenance = (census: WorkflowCensus, repeater: Repeater) => Maintenance;

/** Connects a relay to Temporal in the background, as soon as Temporal answers; until then the relay delivers without it. */
export class RelaySupervision {
  readonly #input: RelaySupervisionInput;
  readonly #away = new AbortController();
  readonly #ends: (() => Promise<unknown>)[] = [];
  #connecting: Promise<Engine> | undefined;
  /** Workers that are being created: they hold the connection. Never rejects. */
  #creating: Promise<unknown> | undefined;

  constructor(input: RelaySupervisionInput) {
    this.#input = input;
  }

  /** Connects, once: waits while Temporal is away. Rejects if it refuses the relay; the next call tries again. */
  connected(): Promise<Engine> {
    this.#connecting ??= this.#connect();
    return this.#connecting;
  }

  async #connect(): Promise<Engine> {
    try {
      const engine = await this.#input.servers.engine(() => this.#away.abort());
      this.#ends.push(() => this.#close(engine));
      return engine;
    } catch (error) {
      this.#connecting = undefined;
      throw error;
    }
  }

  /**
   * Asks the other relays which database they use. While Temporal is away nobody can be asked, and the relay starts
   * anyway: the next reconcile asks again.
   */
  readonly askPlace: AskPlace = async (question, signal) => {
    const engine = await Promise.race([this.connected(), rest(askWithinMs, signal)]);
    return engine?.placeAsker(this.#input.installation)(question, signal);
  };

  /**
   * Supervises the relay from Temporal's first answer until the relay stops.
   *
   * @returns when supervision has begun, or Temporal is found to be away
   * @throws Temporal's error if it refuses the relay at once; a later refusal is reported, and tried again
   */
  async begin(relay: Relay, maintenance: MakeMaintenance): Promise<void> {
    await Promise.race([this.#untilSupervised(relay, maintenance), aborted(this.#away.signal)]);
  }

  /** Ends schedules, workers and connection: drains of workflows settle, and free their lanes. */
  async stop(): Promise<void> {
    for (let end = this.#ends.pop(); end !== undefined; end = this.#ends.pop()) await end();
  }

  async #untilSupervised(relay: Relay, maintenance: MakeMaintenance): Promise<void> {
    const { stopping, report } = this.#input;
    while (!stopping.aborted) {
      try {
        return await this.#supervise(relay, maintenance);
      } catch (error) {
        if (stopping.aborted) return;
        if (!this.#away.signal.aborted) throw error;
        report({ type: 'error', during: 'workers', error });
      }
      await rest(againMs, stopping);
    }
  }

  /** Workers that are being created use the connection: then it is closed after them, and a stop does not wait for that. */
  async #close(engine: Engine): Promise<void> {
    if (this.#creating === undefined) return engine.close();
    this.#creating.then(() => engine.close()).catch(() => undefined);
  }

  async #supervise(relay: Relay, maintenance: MakeMaintenance): Promise<void> {
    const { installation, intervals, report, stopping, topics } = this.#input;
    const engine = await this.connected();
    const repeater = engine.repeater(installation);
    const parts = { relay, maintenance: maintenance(engine.census(installation), repeater) };
    const hosting = engine.host(parts, installation, topics, report).catch(async (error: unknown) => {
      // The error of a worker that cannot be created does not show whether Temporal went away in the meantime.
      await engine.ping().catch(() => this.#away.abort());
      throw error;
    });
    const created = hosting.then(async (workers) => {
      if (!stopping.aborted) return workers;
      // The stop may be over already.
      await workers.stop();
      return undefined;
    });
    this.#creating = created.catch(() => undefined);
    const hosted = await created;
    this.#creating = undefined;
    if (hosted === undefined) return;
    this.#ends.push(() => hosted.stop());
    const kept = engine.keep(hosted, installation, intervals, report);
    this.#ends.push(() => kept.stop());
    const following = parts.maintenance.schedules.keepFollowed(intervals.scheduleCheckIntervalMs);
    this.#ends.push(() => following.stop());
    relay.supervise(engine.starter(installation));
  }
}
