import type { Command, CommandOptions } from 'commander';
import type { DeclaredOperation } from '../operations/declared.ts';
import { optionTexts } from '../operations/descriptions.ts';
import { currentHost } from './host.ts';

/** Adds the commands of one group. Each group is a separate file, listed in `run-program.ts`. */
export type RegisterCommands = (root: Command) => void;

/** Flags that several commands have. */
export interface CommonFlags {
  readonly json?: boolean;
  readonly config?: string;
  readonly database?: string;
}

/** Fires when the command is to stop: on SIGINT or SIGTERM. */
export function stopSignal(): AbortSignal {
  return currentHost().stopSignal();
}

/** A command with the option `--json`, which every command has. */
export function addCommand(
  root: Command,
  usage: string,
  description: string,
  options: CommandOptions = {},
): Command {
  return root
    .command(usage, options)
    .description(description)
    .option('--json', 'write JSON to standard output');
}

/** Adds `--config`, for commands that need the configuration. */
export function withConfig(command: Command): Command {
  return command.option(
    '--config <file>',
    'configuration (default: outbox.config.ts or outbox.config.js, here or in src)',
  );
}

/** Adds `--database` and `--config`, for commands that need only the database. */
export function withDatabase(command: Command): Command {
  return withConfig(
    command.option(
      '--database <url>',
      'address of the database (default: the configuration, then DATABASE_URL)',
    ),
  );
}

/** The command `list` of a group of commands, which is also what the group does alone. */
export function addListCommand(group: Command, description: string): Command {
  return withDatabase(addCommand(group, 'list', `${description} (the default)`, { isDefault: true }));
}

/** A command that changes something on behalf of a person. */
export function addOperatorCommand(root: Command, usage: string, description: string): Command {
  return withDatabase(addCommand(root, usage, description))
    .option('--actor <name>', 'who does it, for the audit (default: the current system user)')
    .option('--reason <text>', optionTexts.reason)
    .option('--dry-run', optionTexts.dryRun)
    .option('--yes', 'do not ask for confirmation');
}

/** The command of a declared operation: what it is of are its arguments. */
export function addDeclaredCommand(
  group: Command,
  name: string,
  { of = {}, options, text }: Pick<DeclaredOperation<never, unknown>, 'of' | 'options' | 'text'>,
): Command {
  if (name === 'list') return addListCommand(group, text);
  const usage = [name, ...Object.keys(of).map((argument) => `<${argument}>`)].join(' ');
  return options === undefined
    ? withDatabase(addCommand(group, usage, text))
    : addOperatorCommand(group, usage, text);
}
