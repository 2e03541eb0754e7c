import type { RelayReport } from '../../relay/report.ts';
import type { ResizableDatabase } from '../../store/database/pool.ts';
import type { NotedFigures } from '../../store/figures/figures.ts';
import { countedMetrics } from '../../telemetry/counted-metrics.ts';
import { type Meter, openMeter } from '../../telemetry/meter.ts';
import { FigureMetrics } from '../../watch/figure-metrics.ts';
import { relayMetrics } from './relay-metrics.ts';
import type { CheckedServer } from './relay-presence.ts';

/** The metrics of a relay, from all its sources. */
export class RelayMeasures {
  readonly report: RelayReport;
  readonly #figures: FigureMetrics;
  readonly #servers = new Map<string, boolean>();
  readonly #stops: readonly (() => void)[];

  /** @returns `undefined` if the process has set up no provider of metrics */
  static async open(database: Pick<ResizableDatabase, 'inUse'>): Promise<RelayMeasures | undefined> {
    const meter = await openMeter();
    return meter && new RelayMeasures(meter, database);
  }

  private constructor(meter: Meter, database: Pick<ResizableDatabase, 'inUse'>) {
    this.report = relayMetrics(meter);
    this.#figures = new FigureMetrics(meter);
    this.#stops = [
      () => this.#figures.stop(),
      meter.watch(countedMetrics.poolInUse, () => [{ value: database.inUse() }]),
      meter.watch(countedMetrics.serverUp, () =>
        [...this.#servers].map(([server, up]) => ({ value: up ? 1 : 0, attributes: { server } })),
      ),
    ];
  }

  /** A server was asked whether it answers. */
  checked({ away, server }: CheckedServer): void {
    this.#servers.set(server, !away);
  }

  /** The database answered this relay, or did not. */
  database(up: boolean): void {
    this.#servers.set('PostgreSQL', up);
  }

  /** Some relay has read the figures of the database. */
  seen(noted: NotedFigures): void {
    this.#figures.seen(noted);
  }

  stop(): void {
    for (const stop of this.#stops) stop();
  }
}
