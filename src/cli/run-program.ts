import { Command, CommanderError } from 'commander';
import { packageVersion } from '../operations/package-version.ts';
import { registerAlertCommands } from './alert-commands.ts';
import { registerApiCommands } from './api-commands.ts';
import { registerBulkCommands } from './bulk-commands.ts';
import { registerDeliveryCommands } from './delivery-commands.ts';
import { addExamples } from './help-text.ts';
import { currentHost, type Host, inHost, thisProcess } from './host.ts';
import { registerInboxCommands } from './inbox-commands.ts';
import { registerMessageCommands } from './message-commands.ts';
import { createOutput, exitCodes, exitMeanings, explain } from './output.ts';
import type { RegisterCommands } from './register.ts';
import { registerScheduleCommands } from './schedule-commands.ts';
import { registerSchemaCommands } from './schema-commands.ts';
import { registerUpkeepCommands } from './upkeep-commands.ts';
import { pointToHelp } from './wrong-words.ts';

/** In the order of the help. */
const groups: readonly RegisterCommands[] = [
  registerSchemaCommands,
  registerDeliveryCommands,
  registerMessageCommands,
  registerBulkCommands,
  registerScheduleCommands,
  registerInboxCommands,
  registerAlertCommands,
  registerUpkeepCommands,
  registerApiCommands,
];

/**
 * Every command, with its help.
 *
 * @param more groups of commands that stand after those of the library
 */
export function commandTree(more: readonly RegisterCommands[]): Command {
  const root = new Command('temporal-outbox')
    .description('Transactional outbox, delayed messages and inbox, supervised by Temporal.')
    .version(packageVersion(), '-V, --version', 'print the version')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void currentHost().stdout.write(text),
      writeErr: (text) => void currentHost().stderr.write(text),
    })
    .addHelpText('after', `\n${exitCodeHelp()}`);
  for (const register of [...groups, ...more]) register(root);
  addExamples(root);
  pointToHelp(root);
  return root;
}

/** What the exit codes mean. */
function exitCodeHelp(): string {
  const meanings = Object.entries(exitMeanings).map(
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of the table
    ([name, meaning]) => `${exitCodes[name as keyof typeof exitCodes]} ${meaning}`,
  );
  return `The help of a command shows examples: temporal-outbox list --help\nExit codes: ${meanings.join(', ')}.`;
}

/**
 * Runs the command that the arguments of the host name, and sets its exit code.
 *
 * @param more as for {@link commandTree}
 */
export async function runProgram(
  more: readonly RegisterCommands[],
  given: Host = thisProcess(),
): Promise<void> {
  // A reader such as `head` may close the pipe: that is not an error, and a relay continues.
  for (const stream of [given.stdout, given.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
  }
  await inHost(given, async () => {
    try {
      await commandTree(more).parseAsync(given.args, { from: 'user' });
    } catch (error) {
      // Commander has already printed the error; help and version are not errors.
      if (error instanceof CommanderError)
        given.exitCode = error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
      else given.exitCode = explain(error, createOutput(given.args.includes('--json')));
    }
  });
}
