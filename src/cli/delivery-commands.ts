import type { Command } from 'commander';
import { listenAddressOfFlag } from './flag-values.ts';
import { loadConfig } from './load-config.ts';
import { configOf } from './operator-flags.ts';
import { type Output, run } from './output.ts';
import { addCommand, type CommonFlags, stopSignal, withConfig, withDatabase } from './register.ts';
import { statusCommand } from './status-command.ts';

interface RelayFlags extends CommonFlags {
  readonly metrics?: string;
}

/** Commands that deliver, and show the state of delivery. */
export function registerDeliveryCommands(root: Command): void {
  const relay = withConfig(addCommand(root, 'relay', 'deliver messages until stopped')).option(
    '--metrics <address>',
    "serve metrics at this port or host:port, at /metrics in Prometheus' text",
  );
  relay.action(
    run<RelayFlags>(async (flags, output) => {
      const signal = stopSignal();
      const config = await loadConfig(configOf(flags));
      const page = flags.metrics === undefined ? undefined : await metricsPage(flags.metrics, output);
      // Loaded on demand: Temporal's worker takes longer to load than other commands take to run.
      const { relayCommand } = await import('./relay-command.ts');
      let code: number;
      try {
        code = await relayCommand(config, output, signal);
      } finally {
        await page?.stop();
      }
      // oxlint-disable-next-line unicorn/no-process-exit -- a connection that is being opened to a server that is away would keep the process alive for seconds
      if (signal.aborted) process.exit(code);
      return code;
    }),
  );
  withDatabase(addCommand(root, 'status', 'show topics, lanes, holds and the oldest due message')).action(
    run<CommonFlags>(statusCommand),
  );
}

async function metricsPage(text: string, output: Output): Promise<{ stop(): Promise<void> }> {
  const { host, port } = listenAddressOfFlag('metrics', text);
  const { exportMetrics } = await import('../app/relay/export-metrics.ts');
  const otlp = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT'].some(
    (name) => (process.env[name] ?? '') !== '',
  );
  const page = await exportMetrics({ host, port, otlp });
  output.line(`Metrics at http://${host}:${page.port}/metrics.`);
  return page;
}
