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

const wrong: readonly (readonly [line: string, code: string, said: string])[] = [
  ['retry --yes', 'OUTBOX_COMMAND_INVALID', 'Name messages by their ids'],
  [`retry ${id}`, 'OUTBOX_COMMAND_INVALID', 'Add --yes'],
  ['list --topic nope', 'OUTBOX_TOPIC_UNKNOWN', 'no topic "nope" (there are orders)'],
  ['retry --topic nope --dry-run', 'OUTBOX_TOPIC_UNKNOWN', '"nope"'],
  ['cancel --topic nope --ref r --yes', 'OUTBOX_TOPIC_UNKNOWN', '"nope"'],
  ['pause nope --yes', 'OUTBOX_TOPIC_UNKNOWN', '"nope" (there are orders)'],
  ['resume nope --yes', 'OUTBOX_TOPIC_UNKNOWN', '"nope" (there are orders)'],
  ['pause --transport nope --yes', 'OUTBOX_TRANSPORT_UNKNOWN', '"nope" (there are '],
  ['lanes nope 2 --yes', 'OUTBOX_TOPIC_UNKNOWN', '"nope" (there are orders)'],
  ['inbox list --group nope', 'OUTBOX_GROUP_UNKNOWN', '"nope"'],
  ['inbox discard a --group nope --yes', 'OUTBOX_GROUP_UNKNOWN', '"nope"'],
  [
    `reschedule ${id} --after never --yes`,
    'OUTBOX_OPTION_INVALID',
    '--after takes a duration such as 15m, and "never" is none',
  ],
  [
    'reschedule --topic orders --shift never --dry-run',
    'OUTBOX_OPTION_INVALID',
    '--shift takes a duration such as 15m, and "never" is none',
  ],
  [
    `reschedule ${id} --at tomorrow --yes`,
    'OUTBOX_OPTION_INVALID',
    '--at takes an ISO time such as 2026-11-27T08:14Z, and "tomorrow" is none',
  ],
  [
    'list --created-from yesterday',
    'OUTBOX_OPTION_INVALID',
    'or a duration such as 2h, and "yesterday" is neither',
  ],
  ['inbox list --older-than never', 'OUTBOX_OPTION_INVALID', '--older-than must be a duration'],
  [
    `edit ${id} --header a=b --expected-version one --yes`,
    'OUTBOX_OPTION_INVALID',
    '--expected-version is not a version',
  ],
  [`edit ${id} --yes`, 'OUTBOX_COMMAND_INVALID', 'Give the new payload as --payload-file'],
  [
    `edit ${id} --payload-file nope.json --yes`,
    'OUTBOX_COMMAND_INVALID',
    'The file of --payload-file cannot be read: ENOENT',
  ],
  [
    'inbox edit a --group g --payload-file nope.json --yes',
    'OUTBOX_COMMAND_INVALID',
    'The file of --payload-file cannot be read: ENOENT',
  ],
  ['status --database foo', 'OUTBOX_COMMAND_INVALID', '--database is not a URL'],
];

describe.concurrent('invalid input of commands', () => {
  test.for(wrong)(
    '%s: exit code 2, a code and what to do, also as JSON',
    { tags: ['arguments-refused-at-the-border'] },
    async ([line, code, said], { expect: hope }) => {
      const args = line.split(' ');
      const [end, json] = await Promise.all([cli(...args), cli(...args, '--json')]);

      hope(end).toMatchObject({ code: 2, stdout: '' });
      hope(end.stderr.split('\n')).toEqual([
        hope.stringMatching(`^${code}: `),
        hope.stringMatching(/^ {2}Next: \S/),
        '',
      ]);
      hope(end.stderr).toContain(said);
      hope(JSON.parse(json.stdout)).toMatchObject({
        ok: false,
        code,
        message: hope.stringContaining(said),
        next: hope.any(String),
      });
    },
  );
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

test('a topic without messages is no wrong input, and says so', async () => {
  expect(await cli('list', '--topic', 'orders')).toMatchObject({ code: 0, stdout: 'No messages.\n' });
});
