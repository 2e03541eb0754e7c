import { type LocalKafka, startKafka } from './kafka/kafka.ts';
import { type LocalPostgres, type PostgresOptions, startPostgres } from './postgres/postgres.ts';
import { type LocalTemporal, startTemporal } from './temporal/temporal.ts';

/** The servers that every program of the outbox needs. */
export interface NeededServers {
  readonly postgres: LocalPostgres;
  readonly temporal: LocalTemporal;
  /** Stops all. Safe to repeat. */
  stop(): Promise<void>;
}

/** These, and the usual broker. */
export interface LocalServers extends NeededServers {
  readonly kafka: LocalKafka;
}

/**
 * Starts PostgreSQL, Temporal and one Kafka broker at the same time.
 *
 * @throws what the first server that does not start throws, after the others have been stopped.
 */
export async function startTogether(options: PostgresOptions): Promise<LocalServers> {
  const [needed, broker] = await Promise.allSettled([startWithoutKafka(options), startKafka(options)]);
  const stop = () => stopAll([needed, broker]);
  return orStop(stop, () => {
    const { postgres, temporal } = valueOf(needed);
    return { postgres, temporal, kafka: valueOf(broker), stop };
  });
}

/** Starts PostgreSQL and Temporal. @throws as {@link startTogether} */
export async function startWithoutKafka(options: PostgresOptions): Promise<NeededServers> {
  const [postgres, temporal] = await Promise.allSettled([startPostgres(options), startTemporal(options)]);
  const stop = () => stopAll([postgres, temporal]);
  return orStop(stop, () => ({ postgres: valueOf(postgres), temporal: valueOf(temporal), stop }));
}

interface Stoppable {
  stop(): Promise<void>;
}

async function stopAll(results: readonly PromiseSettledResult<Stoppable>[]): Promise<void> {
  await Promise.all(
    results.flatMap((result) => (result.status === 'fulfilled' ? [result.value.stop()] : [])),
  );
}

async function orStop<T>(stop: () => Promise<void>, made: () => T): Promise<T> {
  try {
    return made();
  } catch (error) {
    await stop();
    throw error;
  }
}

function valueOf<T>(result: PromiseSettledResult<T>): T {
  if (result.status === 'rejected') throw result.reason;
  return result.value;
}
