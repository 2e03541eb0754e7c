import { DefaultLogger, Runtime } from '@temporalio/worker';

/**
 * Suppresses the logs of Temporal's runtime; relays and consumers report events themselves. A runtime that the process has
 * already installed is kept.
 *
 * Signals are left to the process: by default Temporal's runtime would end the workers on SIGTERM, and keep a process alive
 * that has no handler of its own.
 *
 * @param metricsAt `host:port` at which it serves its metrics. @defaultValue it has none
 * @returns the runtime, unless another one is kept. It ends with the last worker; one that never had a worker keeps the
 * process alive, until it is shut down
 */
export function quietRuntime(metricsAt?: string): Runtime | undefined {
  try {
    return Runtime.install({
      logger: new DefaultLogger('ERROR'),
      telemetryOptions: {
        logging: { filter: 'ERROR', forward: {} },
        ...(metricsAt !== undefined && { metrics: { prometheus: { bindAddress: metricsAt } } }),
      },
      shutdownSignals: [],
    });
  } catch {
    // The process has already installed a runtime.
    return undefined;
  }
}
