import type { Command } from 'commander';
import { deliveryTable } from '../operations/delivery/delivery.ts';
import { statusFigures } from '../operations/delivery/status-conditions.ts';
import { listenAddressOfFlag } from './flag-values.ts';
import { currentHost } from './host.ts';
import { loadConfig } from './load-config.ts';
import { configOf } from './operator-flags.ts';
import { run } from './output.ts';
import { addCommand, type CommonFlags, stopSignal, withConfig, withDatabase } from './register.ts';
import type { RelayCommandOptions } from './relay-command.ts';
import { type StatusFlags, statusCommand } from './status-command.ts';

interface RelayFlags extends CommonFlags {
  readonly health?: string;
  readonly metrics?: string;
}

/** Commands that deliver, and show the state of delivery. */
export function registerDeliveryCommands(root: Command): void {
  withConfig(addCommand(root, 'relay', 'deliver messages until stopped'))
    .option(
      '--health <address>',
      'serve its health at this port or host:port, at /live, /ready and /started: 200, or 503',
    )
    .option('--metrics <address>', "serve metrics at this port or host:port, at /metrics in Prometheus' text")
    .action(
      run<RelayFlags>(async (flags, output) => {
        const served = servedOf(flags);
        // Loaded on demand: Temporal's worker takes longer to load than other commands take to run.
        const { relayCommand } = await import('./relay-command.ts');
        const signal = stopSignal();
        const code = await relayCommand(await loadConfig(configOf(flags)), output, signal, served);
        // A connection that is being opened to a server that is away would keep the process alive for seconds.
        if (signal.aborted) currentHost().leave(code);
        return code;
      }),
    );
  withDatabase(addCommand(root, 'status', deliveryTable.status.text))
    .option(
      '--fail-if <condition...>',
      `exit code 1 if one holds, such as 'oldest > 1 minute' or 'failed > 0'; figures: ${Object.keys(statusFigures).join(', ')}`,
    )
    .option('--settings', 'show also the limits of topics, and the settings of the last relay')
    .action(run<StatusFlags>(statusCommand));
}

function servedOf({ health, metrics }: RelayFlags): Pick<RelayCommandOptions, 'health' | 'metrics'> {
  return {
    ...(health !== undefined && { health: listenAddressOfFlag('health', health) }),
    ...(metrics !== undefined && { metrics: listenAddressOfFlag('metrics', metrics) }),
  };
}
