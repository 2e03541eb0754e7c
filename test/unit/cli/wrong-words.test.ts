import type { Command, CommanderError } from 'commander';
import { expect, test } from 'vitest';
import { registerDevelopmentCommands } from '../../../dev/commands/development-commands.ts';
import { commandTree } from '../../../src/cli/run-program.ts';

/** What a command line that is refused prints, and the code of the refusal. */
async function refused(line: string): Promise<readonly string[]> {
  const root = commandTree([registerDevelopmentCommands]);
  let printed = '';
  const listen = (command: Command): void => {
    command.configureOutput({
      writeErr: (text) => void (printed += text),
      writeOut: (text) => void (printed += `standard output: ${text}`),
    });
    for (const one of command.commands) listen(one);
  };
  listen(root);
  const code = await root.parseAsync(line.split(' '), { from: 'user' }).then(
    () => 'accepted',
    (error: CommanderError) => error.code,
  );
  return [code, ...printed.trimEnd().split('\n')];
}

const unknownCommands: readonly (readonly [line: string, ...told: readonly string[]])[] = [
  ['lst', "error: unknown command 'lst'", '(Did you mean list?)', 'Help: temporal-outbox --help'],
  ['serves', "error: unknown command 'serves'", '(Did you mean servers?)', 'Help: temporal-outbox --help'],
  ['xyzzy', "error: unknown command 'xyzzy'", 'Help: temporal-outbox --help'],
  ...['inbox', 'bulk', 'schedules', 'alerts'].map(
    (group) =>
      [
        `${group} lst`,
        "error: unknown command 'lst'",
        '(Did you mean list?)',
        `Help: temporal-outbox ${group} --help`,
      ] as const,
  ),
];

test.each(unknownCommands)(
  '%s is no command: the nearest one and the help are named',
  async (line, ...told) => {
    expect(await refused(line)).toEqual(['commander.unknownCommand', ...told]);
  },
);

test.each(unknownCommands)('nor does %s have help, which would be that of others', async (line, ...told) => {
  expect(await refused(`${line} --help`)).toEqual(['commander.unknownCommand', ...told]);
  expect(await refused(`${line} -h`)).toEqual(['commander.unknownCommand', ...told]);
});

test.each(['--help', 'help', 'list --help', 'help list', 'inbox --help', 'inbox list --help', 'inbox help'])(
  '%s shows help',
  async (line) => {
    const [code, usage] = await refused(line);
    expect(code).toMatch(/^commander\.help/);
    expect(usage).toMatch(/^standard output: Usage: temporal-outbox /);
  },
);

test.each([
  [
    'list --stat failed',
    "error: unknown option '--stat'",
    '(Did you mean --state?)',
    'Help: temporal-outbox list --help',
  ],
  ['--jsn', "error: unknown option '--jsn'", 'Help: temporal-outbox --help'],
  [
    'inbox show a --payloads',
    "error: unknown option '--payloads'",
    '(Did you mean --payload?)',
    'Help: temporal-outbox inbox show --help',
  ],
  [
    'schedules --databas a',
    "error: unknown option '--databas'",
    '(Did you mean --database?)',
    'Help: temporal-outbox schedules list --help',
  ],
  [
    'withdraw --topic orders --state ready',
    "error: unknown option '--state'",
    'Help: temporal-outbox withdraw --help',
  ],
])('%s has an unknown option: the nearest one and the help are named', async (line, ...told) => {
  expect(await refused(line)).toEqual(['commander.unknownOption', ...told]);
});

test('a word too many or missing is told with the help of its command', async () => {
  expect(await refused('status orders')).toEqual([
    'commander.excessArguments',
    "error: too many arguments for 'status'. Expected 0 arguments but got 1.",
    'Help: temporal-outbox status --help',
  ]);
  expect(await refused('schedules list orders')).toContain('Help: temporal-outbox schedules list --help');
  expect(await refused('bulk show')).toEqual([
    'commander.missingArgument',
    "error: missing required argument 'id'",
    'Help: temporal-outbox bulk show --help',
  ]);
});
