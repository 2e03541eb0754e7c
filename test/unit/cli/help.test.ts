import { readdirSync, readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { registerDevelopmentCommands } from '../../../dev/commands/development-commands.ts';
import { helpExamples } from '../../../src/cli/help-examples.ts';
import { exitCodes, exitMeanings } from '../../../src/cli/output.ts';
import { refusalLines } from '../../../src/cli/refusals-in-words.ts';
import { commandTree } from '../../../src/cli/run-program.ts';
import { refusals } from '../../../src/operations/change.ts';
import { keptListFilter } from '../../../src/operations/inputs/kept.ts';
import { messageFilter } from '../../../src/operations/inputs/messages.ts';

const root = commandTree([registerDevelopmentCommands]);
const repository = new URL('../../../', import.meta.url);
const text = (path: string): string => readFileSync(new URL(path, repository), 'utf8');

/** Where the words of a command line lead, and what in them is neither a command nor an option of it. */
function read(line: string): { readonly command: Command; readonly unknown: readonly string[] } {
  // What runs after ` -- ` is another program.
  const words =
    line
      .replaceAll(/'[^']*'|"[^"]*"/g, 'quoted')
      .split(' -- ')[0]
      ?.trim()
      .split(/\s+/) ?? [];
  let command: Command = root;
  let operands = 0;
  const unknown: string[] = [];
  for (const word of words) {
    const next = operands === 0 ? command.commands.find((one) => one.name() === word) : undefined;
    const flag = /^--?[a-z][\w-]*/i.exec(word)?.[0];
    if (next !== undefined) command = next;
    else if (flag === undefined) {
      operands += 1;
      if (command === root || (command.commands.length > 0 && /^[a-z]+$/.test(word))) unknown.push(word);
    } else if (!known(command, flag)) unknown.push(flag);
  }
  return { command, unknown };
}

function known(command: Command, flag: string): boolean {
  // The options of a group's default command stand after the group.
  const listed = command.commands.find((one) => one.name() === 'list');
  const options = [...command.options, ...(listed?.options ?? [])];
  return flag === '--help' || options.some(({ long, short }) => long === flag || short === flag);
}

const documents = ['README.md', 'CONTRIBUTING.md', ...pagesOf('docs/'), ...pagesOf('docs/transports/')];

function pagesOf(folder: string): readonly string[] {
  return readdirSync(new URL(folder, repository))
    .filter((name) => name.endsWith('.md'))
    .map((name) => folder + name);
}

function isCommand(word: string | undefined): boolean {
  return root.commands.some((one) => one.name() === word);
}

/** Command lines of a document: in its code, up to what a shell ends a command by. */
function linesIn(path: string): readonly string[] {
  const code = [...text(path).matchAll(/^ *```.*\n([\s\S]*?)^ *```|`([^`\n]+)`/gm)];
  // Within a sentence the name of the program is often left out.
  const short = code.flatMap(([, , span = '']) =>
    isCommand(span.split(' ')[0]) && span.includes(' --') ? [`temporal-outbox ${span}`] : [span],
  );
  return [...code.map(([, block = '']) => block), ...short].flatMap((one) =>
    [
      ...one
        .replaceAll('\\\n', ' ')
        .matchAll(/(?<!install )(?<=^|[\s(])temporal-outbox ([a-z][^\n|&;#"`]*)/g),
    ].map(([, line = '']) => line.trim()),
  );
}

const examples = Object.entries(helpExamples).flatMap(([path, help]) =>
  help.examples.map(([line]) => ({ path, line })),
);

test('examples of the help are commands with options that exist', () => {
  expect(examples.filter(({ line }) => read(line).unknown.length > 0)).toEqual([]);
});

test('notes of the help name only options that their command has', () => {
  const named = Object.entries(helpExamples).flatMap(([path, { notes = [] }]) =>
    // What is in quotes is a line of another command.
    [
      ...notes
        .join(' ')
        .replaceAll(/"[^"]*"/g, '')
        .matchAll(/--[a-z]+(?:-[a-z]+)*\b(?!-)/g),
    ].map(([flag]) => ({ path, flag })),
  );
  expect(named.length).toBeGreaterThan(8);
  expect(named.filter(({ flag, path }) => !known(read(path).command, flag))).toEqual([]);
});

test('the help of every command that has examples prints them, in 100 columns', () => {
  for (const path of Object.keys(helpExamples)) {
    const { command, unknown } = read(path);
    expect([path, unknown]).toEqual([path, []]);
    let printed = '';
    command.configureOutput({ writeOut: (part) => void (printed += part), getOutHelpWidth: () => 100 });
    command.outputHelp();
    expect(printed).toContain('\nExamples:\n');
    expect(printed.split('\n').filter((line) => line.length > 100)).toEqual([]);
  }
});

test('every command that changes messages has an example', () => {
  const all = [...root.commands, ...root.commands.flatMap((one) => one.commands)];
  const changing = all.filter(({ options }) =>
    ['--dry-run', '--topic'].every((flag) => options.some(({ long }) => long === flag)),
  );
  const missing = changing.filter((one) => !examples.some(({ line }) => read(line).command === one));
  expect(changing.length).toBeGreaterThan(6);
  expect(missing.map((one) => one.name())).toEqual([]);
});

test('documents show only commands and options that exist', () => {
  const lines = documents.flatMap((path) => linesIn(path).map((line) => ({ path, line })));
  expect(lines.length).toBeGreaterThan(120);
  // The component of a consumer's log lines has the form of a command.
  const wrong = lines.filter(({ line }) => line !== 'consumer' && read(line).unknown.length > 0);
  expect(wrong.map(({ path, line }) => `${path}: ${line}`)).toEqual([]);
});

test('every command is in a document', () => {
  const shown = documents.map(text).join('\n');
  const visible = root
    .createHelp()
    .visibleCommands(root)
    .map((one) => one.name());
  expect(visible.length).toBeGreaterThan(25);
  const missing = visible.filter((name) => !new RegExp(`[\`\\s]${name}\\b`).test(shown));
  expect(missing).toEqual([]);
});

test('the help and docs/operating.md explain the same exit codes', () => {
  const rows = [...text('docs/operating.md').matchAll(/^\| (\d) \| ([^|]+) \|$/gm)];
  const written = rows.map(([, code, meaning = '']) => [Number(code), meaning]);
  expect(written.map(([code]) => code)).toEqual(Object.values(exitCodes));
  for (const [name, code] of Object.entries(exitCodes)) {
    const meaning = Object.entries(exitMeanings).find(([one]) => one === name)?.[1] ?? '';
    const first = meaning.split(' ').slice(0, 2).join(' ');
    expect([code, written[code]?.[1]]).toEqual([code, expect.stringContaining(first)]);
  }
});

test('every refusal of a change is explained', () => {
  const lines = (result: string) => refusalLines('cancel', [{ result, state: 'failed' }]);
  expect([...refusals].filter((result) => lines(result).length === 0)).toEqual([]);
  expect(lines('canceled')).toEqual([]);
});

/** Names of options as the HTTP API has them. */
function parametersOf(path: string, without: readonly string[]): readonly string[] {
  const { command } = read(path);
  return command.options
    .map((option) => option.attributeName())
    .filter((name) => !['json', 'config', 'database', 'limit', 'after', ...without].includes(name))
    .toSorted();
}

test('command line and HTTP API filter by the same conditions', () => {
  const apiNames = (query: object): readonly string[] =>
    Object.keys(query)
      .map((name) => ({ states: 'state', reason: 'failedWith' })[name] ?? name)
      .toSorted();
  expect(parametersOf('list', [])).toEqual(apiNames(messageFilter));
  expect(parametersOf('inbox list', [])).toEqual(apiNames(keptListFilter));
});

test('the help of a command shows no option that it only refuses', () => {
  const commandsOf = (command: Command): readonly Command[] => [
    command,
    ...command.commands.flatMap((one) => commandsOf(one)),
  ];
  const shown = commandsOf(root).flatMap((command) =>
    command
      .createHelp()
      .visibleOptions(command)
      .map(({ description, flags }) => `${command.name()} ${flags}: ${description}`),
  );
  expect(shown.length).toBeGreaterThan(100);
  expect(shown.filter((option) => option.includes('is refused'))).toEqual([]);
});
