import type { Command } from 'commander';
import { configOf } from './operator-flags.ts';
import { run } from './output.ts';
import { addCommand, type CommonFlags, stopSignal, withConfig } from './register.ts';

/** Flags of the command `api`. */
export interface ApiFlags extends CommonFlags {
  readonly port: string;
  readonly host: string;
  readonly withoutSignIn?: boolean;
}

/** The command that serves the HTTP API. */
export function registerApiCommands(root: Command): void {
  withConfig(addCommand(root, 'api', 'serve the HTTP API until stopped'))
    .option('--port <number>', 'port, 0 for a free one', '7676')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--without-sign-in', 'everybody on this machine is an admin; only on a loopback address')
    .action(
      run<ApiFlags>(async (flags, output) => {
        const { apiCommand } = await import('./api-command.ts');
        return apiCommand({ ...flags, config: configOf(flags) }, output, stopSignal());
      }),
    );
}
