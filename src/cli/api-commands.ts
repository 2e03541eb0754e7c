import { createHash, randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import type { ApiFlags } from './api-command.ts';
import { currentHost } from './host.ts';
import { configOf } from './operator-flags.ts';
import { exitCodes, run } from './output.ts';
import { addCommand, type CommonFlags, stopSignal, withConfig } from './register.ts';

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
  addCommand(
    root,
    'api-token',
    'make a token for a caller of the HTTP API, and the hash for bearerTokens()',
  ).action(
    run<CommonFlags>(async (_flags, output) => {
      const token = randomBytes(32).toString('base64url');
      const hash = createHash('sha256').update(token).digest('hex');
      output.line(
        `Token, for the caller; it is not shown again:\n  ${token}\nHash, for the configuration:\n  ${hash}`,
      );
      output.value({ ok: true, token, hash });
      return exitCodes.ok;
    }),
  );
  addCommand(
    root,
    'api-password',
    'read a password for the HTTP API from standard input, and print the hash for basicUsers()',
  ).action(
    run<CommonFlags>(async (_flags, output) => {
      const { passwordCommand } = await import('./api-password-command.ts');
      return passwordCommand(output, currentHost().stdin);
    }),
  );
}
