import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CliEnd, runCli } from '../../support/fixtures/cli.ts';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';

let fixture: LaneFixture;
let folder: string;
const id = '6b2f9c1e-7d3a-4f53-9c52-0d5b1a1f0a11';

beforeAll(async () => {
  fixture = await laneFixture();
  folder = await mkdtemp(path.join(tmpdir(), 'outbox-wrong-'));
});
afterAll(async () => {
  await fixture.drop();
  await rm(folder, { recursive: true });
});

/** Where no configuration is, so that the database is that of DATABASE_URL. */
function cli(...args: readonly string[]): Promise<CliEnd> {
  return runCli(args, { DATABASE_URL: fixture.url });
}

const wrong: readonly (readonly [what: string, args: readonly string[], code: string, said: string])[] = [
  ['retry without a target', ['retry', '--yes'], 'OUTBOX_COMMAND_INVALID', 'Name messages by their ids'],
  ['a change without consent', ['retry', id], 'OUTBOX_COMMAND_INVALID', 'Add --yes'],
  [
    'list of an unknown topic',
    ['list', '--topic', 'nope'],
    'OUTBOX_TOPIC_UNKNOWN',
    'no topic "nope" (there are orders)',
  ],
  [
    'a bulk change of an unknown topic',
    ['retry', '--topic', 'nope', '--dry-run'],
    'OUTBOX_TOPIC_UNKNOWN',
    '"nope"',
  ],
  [
    'a change of a ref of an unknown topic',
    ['cancel', '--topic', 'nope', '--ref', 'r', '--yes'],
    'OUTBOX_TOPIC_UNKNOWN',
    '"nope"',
  ],
  [
    'pause of an unknown topic',
    ['pause', 'nope', '--yes'],
    'OUTBOX_TOPIC_UNKNOWN',
    '"nope" (there are orders)',
  ],
  [
    'resume of an unknown topic',
    ['resume', 'nope', '--yes'],
    'OUTBOX_TOPIC_UNKNOWN',
    '"nope" (there are orders)',
  ],
  [
    'pause of an unknown transport',
    ['pause', '--transport', 'nope', '--yes'],
    'OUTBOX_TRANSPORT_UNKNOWN',
    '"nope" (there are ',
  ],
  [
    'lanes of an unknown topic',
    ['lanes', 'nope', '2', '--yes'],
    'OUTBOX_TOPIC_UNKNOWN',
    '"nope" (there are orders)',
  ],
  ['inbox list of an unknown group', ['inbox', 'list', '--group', 'nope'], 'OUTBOX_GROUP_UNKNOWN', '"nope"'],
  [
    'a change of kept messages by id of an unknown group',
    ['inbox', 'discard', 'a', '--group', 'nope', '--yes'],
    'OUTBOX_GROUP_UNKNOWN',
    '"nope"',
  ],
  [
    'an invalid delay',
    ['reschedule', id, '--after', 'never', '--yes'],
    'OUTBOX_OPTION_INVALID',
    '--after takes a duration such as 15m, and "never" is none',
  ],
  [
    'an invalid shift',
    ['reschedule', '--topic', 'orders', '--shift', 'never', '--dry-run'],
    'OUTBOX_OPTION_INVALID',
    '--shift takes a duration such as 15m, and "never" is none',
  ],
  [
    'an invalid time',
    ['reschedule', id, '--at', 'tomorrow', '--yes'],
    'OUTBOX_OPTION_INVALID',
    '--at takes an ISO time such as 2026-11-27T08:14Z, and "tomorrow" is none',
  ],
  [
    'a list since an invalid time',
    ['list', '--created-from', 'yesterday'],
    'OUTBOX_OPTION_INVALID',
    'or a duration such as 2h, and "yesterday" is neither',
  ],
  [
    'an age that is none',
    ['inbox', 'list', '--older-than', 'never'],
    'OUTBOX_OPTION_INVALID',
    '--older-than must be a duration',
  ],
  [
    'a version that is none',
    ['edit', id, '--header', 'a=b', '--expected-version', 'one', '--yes'],
    'OUTBOX_OPTION_INVALID',
    '--expected-version is not a version',
  ],
  [
    'an edit without a payload',
    ['edit', id, '--yes'],
    'OUTBOX_COMMAND_INVALID',
    'Give the new payload as --payload-file',
  ],
  [
    'a missing payload file',
    ['edit', id, '--payload-file', 'nope.json', '--yes'],
    'OUTBOX_COMMAND_INVALID',
    'The file of --payload-file cannot be read: ENOENT',
  ],
  [
    'a missing payload file of a kept message',
    ['inbox', 'edit', 'a', '--group', 'g', '--payload-file', 'nope.json', '--yes'],
    'OUTBOX_COMMAND_INVALID',
    'The file of --payload-file cannot be read: ENOENT',
  ],
  [
    'an invalid address',
    ['status', '--database', 'foo'],
    'OUTBOX_COMMAND_INVALID',
    '--database is not a URL',
  ],
];

describe.concurrent('invalid input of commands', () => {
  test.for(wrong)(
    '%s: exit code 2, a code and what to do',
    { tags: ['arguments-refused-at-the-border'] },
    async ([, args, code, said], { expect: hope }) => {
      const end = await cli(...args);

      hope(end).toMatchObject({ code: 2, stdout: '' });
      hope(end.stderr.split('\n')).toEqual([
        hope.stringMatching(`^${code}: `),
        hope.stringMatching(/^ {2}Next: \S/),
        '',
      ]);
      hope(end.stderr).toContain(said);
    },
  );

  test.for(wrong)('%s: the same as JSON', async ([, args, code, said], { expect: hope }) => {
    const { stdout } = await cli(...args, '--json');

    hope(JSON.parse(stdout)).toMatchObject({
      ok: false,
      code,
      message: hope.stringContaining(said),
      next: hope.any(String),
    });
  });
});

test('a misspelt command or option is told in three lines, with exit code 2', async () => {
  expect(await cli('lst')).toEqual({
    code: 2,
    stdout: '',
    stderr: "error: unknown command 'lst'\n(Did you mean list?)\nHelp: temporal-outbox --help\n",
  });
  expect(await cli('inbox', 'lst')).toMatchObject({
    code: 2,
    stderr: "error: unknown command 'lst'\n(Did you mean list?)\nHelp: temporal-outbox inbox --help\n",
  });
  expect(await cli('list', '--stat', 'failed')).toMatchObject({
    code: 2,
    stderr: "error: unknown option '--stat'\n(Did you mean --state?)\nHelp: temporal-outbox list --help\n",
  });
});

test('an invalid DATABASE_URL is named but not repeated, as it may be a password', async () => {
  const end = await runCli(['status'], { DATABASE_URL: 'hunter2' });

  expect(end).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('DATABASE_URL is not a URL of PostgreSQL'),
  });
  expect(end.stderr).not.toContain('hunter2');
});

test.each(['mjs', 'ts', 'js', 'cjs'])(
  'the error for a configuration in a .%s file without a default export says so',
  async (ending) => {
    const file = path.join(folder, `topics.${ending}`);
    const module =
      ending === 'cjs'
        ? 'Object.defineProperty(exports, "__esModule", { value: true });\nexports.topics = [];\nexports.transports = {};\n'
        : 'export const topics = [];\nexport const transports = {};\n';
    await writeFile(file, module);

    expect(await cli('relay', '--config', file)).toEqual({
      code: 1,
      stdout: '',
      stderr: `OUTBOX_CONFIG_INVALID: ${file} has no default export made by defineConfig().\n  Next: Correct the named settings of the configuration.\n`,
    });
  },
);
