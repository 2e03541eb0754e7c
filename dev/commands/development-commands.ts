import type { Command } from 'commander';
import { currentHost } from '../../src/cli/host.ts';
import { configOf } from '../../src/cli/operator-flags.ts';
import { exitCodes, run } from '../../src/cli/output.ts';
import { addCommand, type CommonFlags, stopSignal, withConfig } from '../../src/cli/register.ts';
import { requirePackages } from '../../src/core/packages.ts';
import type { ServerChoice } from '../servers/index.ts';
import type { KeptFlags } from './kept-flags.ts';
import type { ChoiceFlags } from './server-choice.ts';

interface DemoFlags extends CommonFlags {
  readonly keep?: boolean;
}

interface StartFlags extends CommonFlags, KeptFlags, ChoiceFlags {}

interface ServersFlags extends StartFlags {
  readonly reset?: boolean;
}

interface DevFlags extends StartFlags {
  readonly consumer?: string;
}

interface InitFlags extends CommonFlags {
  readonly topic: string;
  readonly yes?: boolean;
}

/** An option with several values, in one list or by repeating it. */
const listed = (names: string, before: readonly string[] = []): readonly string[] => [
  ...before,
  ...names.split(',').map((name) => name.trim()),
];

/** Commands for development; their code is loaded on demand. */
export function registerDevelopmentCommands(root: Command): void {
  registerInit(root);
  registerServers(root);
  registerDev(root);
  addCommand(root, 'demo', 'run a demo shop on its own servers, with a killed relay and a stopped broker')
    .option('--keep', 'leave everything running afterwards, until stopped')
    .action(
      run<DemoFlags>(async ({ keep = false }, output) => {
        const { demoCommand } = await import('./demo-command.ts');
        return demoCommand({ env: process.env, keep, signal: stopSignal() }, output);
      }),
    );
}

function registerInit(root: Command): void {
  addCommand(
    root,
    'init',
    'write configuration, topics, a consumer and scripts into the project of this folder',
  )
    .option('--topic <name>', 'name of the first topic', 'order-placed')
    .option('--yes', 'write without a question; what exists stays as it is in any case')
    .action(
      run<InitFlags>(async ({ topic, yes = false }, output) => {
        const { initCommand } = await import('./init-command.ts');
        return initCommand({ folder: process.cwd(), topic, yes }, output);
      }),
    );
}

/** Adds the options of the servers that a command starts. */
function withStarted(command: Command): Command {
  return command
    .option('--with <names>', 'more servers: redis, rabbitmq, rocketmq, separated by commas', listed)
    .option('--without <names>', 'leave out kafka, for programs that do not use it', listed)
    .option('--name <name>', 'keep their data under this name (default: the project of this folder)')
    .option('--ports <ports>', 'as kafka=9093,postgres=5433 (default: the usual ones, or free ones)', listed);
}

/** Which servers to start. The checks that they are ready need the clients of Temporal and Kafka. */
async function startable(flags: ChoiceFlags): Promise<ServerChoice> {
  requirePackages('temporal');
  const { choiceOf } = await import('./server-choice.ts');
  const choice = choiceOf(flags);
  if (choice.withoutKafka !== true) requirePackages('kafka');
  return choice;
}

function registerServers(root: Command): void {
  withStarted(
    addCommand(
      root,
      'servers [command...]',
      'start PostgreSQL, Temporal and Kafka for development, until stopped or while a command runs: servers -- npm test',
    ),
  )
    .option('--reset', 'delete the data of these servers, which must not run, and start nothing')
    .action(
      run<ServersFlags>(async ({ reset = false, ...flags }, output, command) => {
        const choice = await startable(flags);
        const { serversCommand } = await import('./servers-command.ts');
        const signal = stopSignal();
        return serversCommand({ env: process.env, choice, kept: flags, reset, command, signal }, output);
      }),
    );
}

function registerDev(root: Command): void {
  withStarted(
    withConfig(
      addCommand(
        root,
        'dev',
        'start servers, prepare database and topics, run a relay and a consumer, until stopped',
      ),
    ).option('--consumer <file>', 'the program of your consumer, started again when its files change'),
  ).action(
    run<DevFlags>(async (flags, output) => {
      const choice = await startable(flags);
      const { devCommand } = await import('./dev-command.ts');
      const { consumer } = flags;
      const signal = stopSignal();
      // A second Ctrl-C must not leave processes behind.
      signal.addEventListener('abort', () => process.on('SIGINT', () => process.exit(exitCodes.failed)));
      const request = { env: process.env, config: configOf(flags), consumer, choice, kept: flags, signal };
      return devCommand(request, output);
    }),
  );
  // Only `dev` runs these.
  withConfig(root.command('dev-api', { hidden: true }).requiredOption('--port <number>')).action(
    run<CommonFlags & { readonly port: string }>(async (flags, output) => {
      const { apiCommand } = await import('../../src/cli/api-command.ts');
      const local = { ...flags, config: configOf(flags), host: '127.0.0.1', withoutSignIn: true };
      return apiCommand(local, output, stopSignal(), { asText: true });
    }),
  );
  withConfig(root.command('dev-relay', { hidden: true })).action(
    run<CommonFlags>(async (flags, output) => {
      const { devRelayCommand } = await import('./dev-relay-command.ts');
      const signal = stopSignal();
      const code = await devRelayCommand(configOf(flags), output, signal);
      // A connection that is being made to a server that is away would keep the process for seconds.
      if (signal.aborted) currentHost().leave(code);
      return code;
    }),
  );
}
