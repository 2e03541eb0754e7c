import { Command } from 'commander';

/**
 * Ends the error for a wrong word of a command line with a line that names the help of the command, instead of the whole help. The
 * error itself names the nearest command or option.
 *
 * @param path the words that lead to the command
 */
export function pointToHelp(command: Command, path: string = command.name()): void {
  command.showHelpAfterError(helpOf(path));
  if (command.commands.length > 0) refuseUnknownCommands(command, path);
  for (const one of command.commands) pointToHelp(one, `${path} ${one.name()}`);
}

function helpOf(path: string): string {
  return `Help: ${path} --help`;
}

/**
 * The default command of a group would take a misspelt one for an argument too many, and a `--help` behind it would show the help of
 * the group, as if there were such a command.
 */
function refuseUnknownCommands(group: Command, path: string): void {
  const refuse = ([word = '-']: readonly string[]): void => {
    const names = group.commands.map((one) => one.name());
    if (word.startsWith('-') || ['help', ...names].includes(word)) return;
    const without = new Command(group.name())
      .exitOverride()
      .configureOutput(group.configureOutput())
      .showHelpAfterError(helpOf(path));
    for (const name of names) without.command(name);
    without.parse([word], { from: 'user' });
  };
  group.hook('preSubcommand', ({ args }) => refuse(args));
  group.on('beforeHelp', () => refuse(group.args));
}
