#!/usr/bin/env node
import { Command, CommanderError } from 'commander';
import { env } from '../config/config.ts';
import { demoCommand } from './demo-command.ts';
import { loadConfig } from './load-config.ts';
import { migrateCommand } from './migrate-command.ts';
import { createOutput, exitCodes, explain, type Output } from './output.ts';
import { relayCommand } from './relay-command.ts';
import { serversCommand } from './servers-command.ts';
import { statusCommand } from './status-command.ts';

const configFile = 'outbox.config.ts';

interface Common {
  readonly json?: boolean;
  readonly config?: string;
  readonly database?: string;
}

/** The address of the database: given, of the environment, or of the configuration. */
async function databaseUrl(options: Common): Promise<string> {
  if (options.database !== undefined) return options.database;
  const fromEnvironment = env('DATABASE_URL', '-');
  return fromEnvironment === '-'
    ? (await loadConfig(options.config ?? configFile)).database.url
    : fromEnvironment;
}

function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  return stop.signal;
}

/** Runs a command and turns its answer or error into the exit code. */
function run<Options extends Common>(
  work: (options: Options, output: Output) => Promise<number>,
): (options: Options) => Promise<void> {
  return async (options) => {
    const output = createOutput(options.json ?? false);
    process.exitCode = await work(options, output).catch((error: unknown) => explain(error, output));
  };
}

function program(): Command {
  const root = new Command('temporal-outbox')
    .description('Transactional outbox, delayed messages and inbox, supervised by Temporal.')
    .exitOverride()
    .showHelpAfterError();
  const command = (name: string, description: string): Command =>
    root.command(name).description(description).option('--json', 'answer with JSON on standard output');

  command('migrate', "apply the product's migrations")
    .option('--database <url>', 'address of the database (default: DATABASE_URL, then the configuration)')
    .option('--config <file>', 'configuration', configFile)
    .option('--print', 'print the SQL and change nothing')
    .option('--check', 'tell whether something is missing and change nothing; exit code 1 if so')
    .action(
      run<Common & { readonly print?: boolean; readonly check?: boolean }>((options, output) =>
        migrateCommand(
          { url: () => databaseUrl(options), print: options.print ?? false, check: options.check ?? false },
          output,
        ),
      ),
    );
  command('relay', 'deliver messages until stopped')
    .option('--config <file>', 'configuration', configFile)
    .action(
      run<Common>(async (options, output) =>
        relayCommand(await loadConfig(options.config ?? configFile), output, stopSignal()),
      ),
    );
  command('status', 'show topics, lanes, holds and the oldest due message')
    .option('--database <url>', 'address of the database (default: DATABASE_URL, then the configuration)')
    .option('--config <file>', 'configuration', configFile)
    .action(run<Common>(async (options, output) => statusCommand(await databaseUrl(options), output)));
  command('servers', 'start PostgreSQL, Temporal and Kafka for development, until stopped').action(
    run<Common>((_, output) => serversCommand(process.env, output, stopSignal())),
  );
  command('demo', 'play a shop on servers of its own, with a killed relay and a stopped broker')
    .option('--keep', 'leave everything running afterwards, until stopped')
    .action(
      run<Common & { readonly keep?: boolean }>(({ keep = false }, output) =>
        demoCommand({ env: process.env, keep, signal: stopSignal() }, output),
      ),
    );
  return root;
}

try {
  await program().parseAsync();
} catch (error) {
  // Commander has said what was wrong; help and version are no failures.
  if (error instanceof CommanderError)
    process.exitCode = error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  else process.exitCode = explain(error, createOutput(process.argv.includes('--json')));
}
