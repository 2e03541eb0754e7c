import type { Command } from 'commander';
import { requirePackages } from '../core/packages.ts';
import { addCommand, type CommonFlags, run, stopSignal } from './register.ts';

interface DemoFlags extends CommonFlags {
  readonly keep?: boolean;
}

/** Commands that start servers of their own; their code is loaded on demand. */
export function registerDevelopmentCommands(root: Command): void {
  addCommand(root, 'servers', 'start PostgreSQL, Temporal and Kafka for development, until stopped').action(
    run<CommonFlags>(async (_, output) => {
      // The readiness checks of the servers use these clients.
      for (const part of ['temporal', 'kafka'] as const) requirePackages(part);
      const { serversCommand } = await import('./servers-command.ts');
      return serversCommand(process.env, output, stopSignal());
    }),
  );
  addCommand(root, 'demo', 'run a demo shop on its own servers, with a killed relay and a stopped broker')
    .option('--keep', 'leave everything running afterwards, until stopped')
    .action(
      run<DemoFlags>(async ({ keep = false }, output) => {
        const { demoCommand } = await import('./demo-command.ts');
        return demoCommand({ env: process.env, keep, signal: stopSignal() }, output);
      }),
    );
}
