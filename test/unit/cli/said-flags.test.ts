import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { commandTree } from '../../../src/cli/run-program.ts';
import { saidOfFlags } from '../../../src/cli/said-flags.ts';
import { OutboxError } from '../../../src/core/errors.ts';
import { checkFilter, checkKeptFilter } from '../../../src/operations/filters.ts';
import { authorOf, invalid, pageSizeOf } from '../../../src/operations/operation-options.ts';

/** What a person is told who gave such a value to the command. */
function told(path: string, work: () => unknown): unknown {
  const command = path
    .split(' ')
    .reduce<Command | undefined>(
      (at, name) => at?.commands.find((one) => one.name() === name),
      commandTree([]),
    );
  try {
    return work();
  } catch (error) {
    const said = saidOfFlags(error, command?.options ?? []);
    return said instanceof OutboxError ? [said.message, said.details['option']] : said;
  }
}

test('the error for a value names the flag that was typed', () => {
  const never = JSON.parse('"never"');
  expect(told('inbox list', () => checkKeptFilter({ olderThan: never }))).toEqual([
    expect.stringMatching(/^--older-than must be a duration/),
    'older-than',
  ]);
  // A change has a --reason, too, which is another one.
  expect(told('inbox retry', () => checkKeptFilter({ reason: '' }))).toEqual([
    expect.stringMatching(/^--failed-with must be a text/),
    'failed-with',
  ]);
  expect(told('inbox retry', () => authorOf({ actor: 'olga', reason: '' }))).toEqual([
    expect.stringMatching(/^--reason must be a text/),
    'reason',
  ]);
  expect(told('list', () => checkFilter({ key: '' }))).toEqual([
    expect.stringMatching(/^--key must be a text/),
    'key',
  ]);
  expect(told('list', () => pageSizeOf(1_000))).toEqual([expect.stringMatching(/^--limit must be/), 'limit']);
  const version = () => {
    throw invalid('expectedVersion', 'is not a version as show prints it');
  };
  expect(told('edit', version)).toEqual([
    '--expected-version is not a version as show prints it.',
    'expected-version',
  ]);
});

test('what the command has no flag for, or is of something else, keeps its name', () => {
  expect(told('list', () => pageSizeOf(1_000))).not.toEqual(told('pause', () => pageSizeOf(1_000)));
  expect(told('pause', () => pageSizeOf(1_000))).toEqual([
    expect.stringMatching(/^The option "limit" of the operation must be/),
    'limit',
  ]);
  const other = new OutboxError('OUTBOX_OPTION_INVALID', 'The option "topic" of kafka() must be a text.');
  const list = commandTree([]).commands.find((one) => one.name() === 'list');
  expect(saidOfFlags(other, list?.options ?? [])).toBe(other);
  const away = new Error('away');
  expect(saidOfFlags(away, [])).toBe(away);
});
