import { type LocalKafka, startKafka } from './kafka/kafka.ts';
import { type LocalPostgres, type PostgresOptions, startPostgres } from './postgres/postgres.ts';
import { type LocalTemporal, startTemporal } from './temporal/temporal.ts';

/** The servers that the outbox needs. */
export interface LocalServers {
  readonly postgres: LocalPostgres;
  readonly temporal: LocalTemporal;
  readonly kafka: LocalKafka;
  /** Stops all three. Safe to repeat. */
  stop(): Promise<void>;
}

/**
 * Starts PostgreSQL, Temporal and one Kafka broker at the same time.
 *
 * @throws what the first server that does not start throws, after the others have been stopped.
 */
export async function startTogether(options: PostgresOptions): Promise<LocalServers> {
  const results = await Promise.allSettled([
    startPostgres(options),
    startTemporal(options),
    startKafka(options),
  ]);
  const stop = async () => {
    await Promise.all(
      results.flatMap((result) => (result.status === 'fulfilled' ? [result.value.stop()] : [])),
    );
  };
  try {
    return { postgres: valueOf(results[0]), temporal: valueOf(results[1]), kafka: valueOf(results[2]), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function valueOf<T>(result: PromiseSettledResult<T>): T {
  if (result.status === 'rejected') throw result.reason;
  return result.value;
}
