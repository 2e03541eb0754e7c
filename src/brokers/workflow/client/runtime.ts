import { DefaultLogger, Runtime } from '@temporalio/worker';

/**
 * Suppresses the logs of Temporal's runtime; relays and consumers report events themselves. A runtime that the process has
 * already installed is kept.
 *
 * Signals are left to the process: by default Temporal's runtime would end the workers on SIGTERM, and keep a process alive
 * that has no handler of its own.
 */
export function quietRuntime(): void {
  try {
    Runtime.install({
      logger: new DefaultLogger('ERROR'),
      telemetryOptions: { logging: { filter: 'ERROR', forward: {} } },
      shutdownSignals: [],
    });
  } catch {
    // The process has already installed a runtime.
  }
}
