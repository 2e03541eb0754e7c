import type { Command } from 'commander';
import { type CommandHelp, helpExamples } from './help-examples.ts';

/** Adds the examples to the help of every command that has some. */
export function addExamples(root: Command): void {
  for (const [path, help] of Object.entries(helpExamples)) {
    const names = path.split(' ');
    const command = names.reduce<Command | undefined>(
      (at, name) => at?.commands.find((one) => one.name() === name),
      root,
    );
    command?.addHelpText('after', helpText(help));
  }
}

function helpText({ examples, notes = [] }: CommandHelp): string {
  const lines = examples.flatMap(([line, purpose]) => [
    ...(purpose === '' ? [] : [`  # ${purpose}`]),
    `  temporal-outbox ${line}`,
  ]);
  return ['', 'Examples:', ...lines, ...notes.flatMap((note) => ['', note])].join('\n');
}
