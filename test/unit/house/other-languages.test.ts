import { expect, test } from 'vitest';
import { shownLines, shownMessage } from '../../support/fixtures/wire-page.ts';
import { textOf } from './project-files.ts';

const page = textOf('docs/other-languages.md') ?? '';
const table = page.split('\n').filter((line) => line.startsWith('| '));
const cellsOf = (line: string): readonly string[] =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
const [, ...transports] = cellsOf(table[0] ?? '');

test.each([
  ['id', shownMessage.id],
  ['topic', shownMessage.headers['ce_type']],
  ['key', shownMessage.key],
  ['content type', shownMessage.headers['content-type']],
  ['payload', shownMessage.payload],
])('the messages that docs/other-languages.md shows have the %s where its table says', (part, value) => {
  const row = table.map(cellsOf).find(([name]) => name === part) ?? [];
  const missing = transports.flatMap((transport, n) => {
    const names = [...(row[n + 1] ?? '').matchAll(/`(?<name>[^`]+)`/g)].map(({ groups }) => groups?.['name']);
    expect(names, transport).not.toEqual([]);
    const decoded = (line: string) => (transport === 'HTTP' ? decodeURIComponent(line) : line);
    const shown = new Set(shownLines(transport).map(decoded));
    return names.map((name) => `${name}: ${value}`).filter((line) => !shown.has(line));
  });

  expect(transports).toHaveLength(5);
  expect(missing).toEqual([]);
});
