import { DefaultLogger, Runtime } from '@temporalio/worker';

/**
 * Keeps Temporal's own chatter off the terminal; what a relay does it reports itself. A process that has installed
 * its runtime before keeps that one.
 */
export function quietRuntime(): void {
  try {
    Runtime.install({
      logger: new DefaultLogger('ERROR'),
      telemetryOptions: { logging: { filter: 'ERROR', forward: {} } },
    });
  } catch {
    // The runtime is the process's, and it is there already.
  }
}
