import { DefaultLogger, Runtime, type RuntimeOptions } from '@temporalio/worker';

/**
 * Keeps Temporal's own chatter off the terminal; relays and consumers report what they do. A process that has installed
 * its runtime before keeps that one.
 *
 * @param options what else the process wants of the runtime
 */
export function quietRuntime(options: Pick<RuntimeOptions, 'shutdownSignals'> = {}): void {
  try {
    Runtime.install({
      logger: new DefaultLogger('ERROR'),
      telemetryOptions: { logging: { filter: 'ERROR', forward: {} } },
      ...options,
    });
  } catch {
    // The runtime is the process's, and it is there already.
  }
}
