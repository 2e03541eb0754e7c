import { DefaultLogger, Runtime } from '@temporalio/worker';

/**
 * Keeps Temporal's own chatter off the terminal; relays and consumers report what they do. A process that has installed
 * its runtime before keeps that one.
 *
 * Its signals stay the process's own: by default Temporal's runtime would end the workers at SIGTERM, and leave alive a process
 * that has not asked to hear of it.
 */
export function quietRuntime(): void {
  try {
    Runtime.install({
      logger: new DefaultLogger('ERROR'),
      telemetryOptions: { logging: { filter: 'ERROR', forward: {} } },
      shutdownSignals: [],
    });
  } catch {
    // The runtime is the process's, and it is there already.
  }
}
