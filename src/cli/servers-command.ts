import { type Environment, runServers } from '../local/index.ts';
import { exitCodes, type Output } from './output.ts';

/** Starts PostgreSQL, Temporal and Kafka, prints their addresses, and keeps them running until the signal fires. */
export async function serversCommand(env: Environment, output: Output, signal: AbortSignal): Promise<number> {
  await runServers({
    env,
    signal,
    progress: (line) => output.trouble(line),
    print: (line) => output.line(line),
    started: ({ postgres, temporal, kafka }) =>
      output.value({
        ok: true,
        databaseUrl: postgres.url,
        temporalAddress: temporal.address,
        temporalNamespace: temporal.namespace,
        temporalUiUrl: temporal.uiUrl,
        kafkaBrokers: kafka.brokers,
      }),
  });
  return exitCodes.ok;
}
