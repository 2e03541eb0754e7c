import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

const root = new URL('../../../', import.meta.url);
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', 'examples'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => file !== '');
const names = [
  ...new Set(
    files.flatMap((file) => /^examples\/(?<name>[\w-]+)\/package\.json$/.exec(file)?.groups?.['name'] ?? []),
  ),
];
const text = (file: string): string => readFileSync(new URL(file, root), 'utf8');

describe.each(names)('the example %s', (name) => {
  test('has files of at most 150 lines', () => {
    const long = files
      .filter((file) => file.startsWith(`examples/${name}/`) && /\.(?:ts|prisma|lua|java)$/.test(file))
      .filter((file) => text(file).split('\n').length > 151);

    expect(long).toEqual([]);
  });

  test('has a README with one picture, and is in the list of examples', () => {
    const readme = text(`examples/${name}/README.md`);

    expect(readme.match(/^```mermaid$/gm)).toHaveLength(1);
    expect(readme).toContain('npm start');
    expect(text('examples/README.md')).toContain(`(${name}/README.md)`);
  });
});

/** The cells of the rows of all tables of a page. */
const rowsOf = (page: string): readonly (readonly string[])[] =>
  [...page.matchAll(/^\| (?<row>.*) \|$/gm)].map(({ groups }) => (groups?.['row'] ?? '').split(' | '));

test('each figure in the table of designs is one that the page of its example has', () => {
  const compared = rowsOf(text('examples/README.md')).filter(
    (row) => row.length === 5 && /\(.*README/.test(row[4] ?? ''),
  );
  expect(compared).toHaveLength(5);
  for (const [, , byHand = '', here = '', links = ''] of compared) {
    const pages = [...links.matchAll(/\((?<page>[\w-]+\/README\.md)\)/g)].map(
      ({ groups }) => groups?.['page'] ?? '',
    );
    const rows = pages.flatMap((page) => rowsOf(text(`examples/${page}`)));
    for (const [figures, column] of [
      [byHand, -2],
      [here, -1],
    ] as const)
      for (const figure of figures.replace('over a channel, ', '').split('; ')) {
        const cells = rows.map((row) => row.at(column) ?? '');
        expect(cells, figure).toContainEqual(
          expect.stringMatching(new RegExp(`(?<![\\w.,])${figure}(?!\\w)`)),
        );
      }
  }
});
