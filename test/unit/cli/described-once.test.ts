import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { registerDevelopmentCommands } from '../../../dev/commands/development-commands.ts';
import { streamTable } from '../../../src/api/live/streams.ts';
import { operationTable } from '../../../src/api/table/table.ts';
import { commandTree } from '../../../src/cli/run-program.ts';
import { asSentence } from '../../../src/operations/descriptions.ts';
import type { Inputs } from '../../../src/operations/inputs/values.ts';
import { counterparts } from '../../support/cli/counterparts.ts';

/** Operations that are an option of a command, or have none. */
const withoutCommand = {
  startBulk: 'a change with a filter, and replay',
  startKeptBulk: 'a change of kept messages with a filter',
  revealMessage: 'show --payload',
  showMessageLog: 'show --log',
  revealKept: 'inbox show --payload',
  adopt: 'migrate --adopt',
  showMe: 'only requests have a caller',
  followStatus: 'a stream for pages',
};

/** Commands that an API does not have: they run processes, read and write on the machine where they are, or are for hours without an API. */
const withoutOperation = [
  'migrate',
  'relay',
  'replay',
  'alerts test',
  'inbox rewind',
  'doctor',
  'groups',
  'api',
  'api-token',
  'api-password',
  'init',
  'servers',
  'dev',
  'demo',
];

/** The fields of options that have another name in the help, where one word is one option. */
const otherNames: Readonly<Record<string, string>> = {
  state: 'states',
  failedWith: 'reason',
  rate: 'ratePerSecond',
  id: 'ids',
  group: 'groups',
};

/** Options of a condition, whose field `reason` is not that of the audit. */
const conditions = new Set(['failedWith']);

/** What starts the same change of all messages that match a filter. */
const byFilter: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['cancel', 'reschedule', 'retry', 'discard', 'replay'].map((name) => [name, 'startBulk']),
  ),
  'inbox retry': 'startKeptBulk',
  'inbox discard': 'startKeptBulk',
};

const root = commandTree([registerDevelopmentCommands]);
const requests = [...operationTable, ...streamTable];

function commandsOf(parent: Command, path = ''): readonly (readonly [string, Command])[] {
  const visible = parent.createHelp().visibleCommands(parent);
  return visible
    .filter((one) => one.name() !== 'help')
    .flatMap((one) =>
      one.commands.length === 0
        ? [[`${path}${one.name()}`, one] as const]
        : commandsOf(one, `${one.name()} `),
    );
}

const commands = new Map(commandsOf(root));

/** What a request gives, by its place. The fields of a bulk operation are those of its filter, its task and its own. */
function fieldsOf(name: string): Readonly<Record<'asked' | 'filter', Fields>> {
  const found = requests.find((one) => one.name === name);
  const body = described(found !== undefined && 'body' in found ? found.body : undefined);
  const { filter, task } = body;
  const tasks = [task, ...(task?.anyOf ?? [])].map((one) => one?.properties ?? {});
  return {
    filter: { ...described(found?.query), ...filter?.properties },
    asked: Object.assign({}, ...tasks, body) as Fields,
  };
}

interface Field {
  readonly description?: string;
  readonly anyOf?: readonly Field[];
  readonly properties?: Fields;
}
type Fields = Readonly<Record<string, Field>>;

function described(inputs: Inputs = {}): Fields {
  return Object.fromEntries(Object.entries(inputs).map(([name, { schema = {} }]) => [name, schema]));
}

/** The first sentence of a description, as the help would begin it. */
function spoken(text = ''): string {
  const [first = ''] = text.split(/\.(?: |$)/);
  return first.slice(0, 1).toLowerCase() + first.slice(1);
}

test('every command has its operations of the HTTP API, or is one that an API does not have', {
  tags: ['faces-describe-the-same'],
}, () => {
  expect([...commands.keys()].toSorted()).toEqual(
    [...Object.keys(counterparts), ...withoutOperation].toSorted(),
  );
  const named = [...Object.values(counterparts).flat(), ...Object.keys(withoutCommand)];
  expect(requests.map(({ name }) => name).toSorted()).toEqual(named.toSorted());
});

test('a command and its operations say the same of what they do', {
  tags: ['faces-describe-the-same'],
}, () => {
  for (const [path, names] of Object.entries(counterparts))
    for (const name of names) {
      const summary = requests.find((one) => one.name === name)?.summary;
      expect([name, commands.get(path)?.description()]).toEqual([
        name,
        expect.stringMatching(new RegExp(`^${escaped(spoken(summary))}`)),
      ]);
    }
});

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}

const pairs = [...Object.entries(counterparts), ...Object.entries(byFilter)].flatMap(([path, names]) =>
  [names].flat().flatMap((name) => {
    const { asked, filter } = fieldsOf(name);
    return (commands.get(path)?.options ?? []).flatMap((option) => {
      const own = option.attributeName();
      const fields = conditions.has(own) ? filter : { ...filter, ...asked };
      const field = fields[own] ?? fields[otherNames[own] ?? ''];
      return field === undefined ? [] : [{ path, option, name, field }];
    });
  }),
);

test('every option of a change with a filter has a field of its bulk operation', {
  tags: ['faces-describe-the-same'],
}, () => {
  const onlyThere = new Set([
    'json',
    'database',
    'config',
    'actor',
    'yes',
    'wait',
    'timeout',
    'address',
    'sameIds',
  ]);
  for (const [path, name] of Object.entries(byFilter)) {
    const paired = pairs.filter((one) => one.path === path && one.name === name);
    const options = (commands.get(path)?.options ?? []).map((option) => option.attributeName());
    const missing = options.filter(
      (own) => !onlyThere.has(own) && !paired.some(({ option }) => option.attributeName() === own),
    );
    expect([path, missing]).toEqual([path, []]);
  }
});

test('an option and the field of its name say the same of what they mean', {
  tags: ['faces-describe-the-same'],
}, () => {
  expect(pairs.length).toBeGreaterThan(150);
  const different = pairs
    .map(({ field, name, option, path }) => ({
      help: `${path} --${option.name()}: ${asSentence(option.description)}`,
      api: `${name}: ${field.description}`,
      begins: asSentence(option.description).startsWith(
        spoken(field.description).replace(/^./, (letter) => letter.toUpperCase()),
      ),
    }))
    .filter(({ begins }) => !begins);
  expect(different).toEqual([]);
});
