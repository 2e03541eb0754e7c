import { uuid } from '../core/uuid.ts';
import { clip, printable, screenColumns } from './printable.ts';

const gap = 2;
/** Minimum width of every column. */
const narrowest = 6;
const lastNeeds = 24;

/**
 * Formats rows as aligned columns with a heading, within the {@link screenColumns}. If they do not fit, long cells are
 * cut, except ids, and the text of the last column is wrapped.
 */
export function table(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const shown = [heading, ...rows].map((row) => row.map(printable));
  const widths = widthsOf(shown);
  return shown.flatMap((row) => linesOf(row, widths)).join('\n');
}

/** The same for rows that may each have lines of their own below. */
export function tableWith<Row>(
  heading: readonly string[],
  rows: readonly Row[],
  cellsOf: (row: Row) => readonly string[],
  below: (row: Row) => readonly string[],
): string {
  const [head = '', ...lines] = table(heading, rows.map(cellsOf)).split('\n');
  return [head, ...rows.flatMap((row, n) => [lines[n] ?? '', ...below(row)])].join('\n');
}

function widthsOf(rows: readonly (readonly string[])[]): readonly number[] {
  const [heading = []] = rows;
  const cells = heading.map((_title, column) => rows.map((row) => row[column] ?? ''));
  const widths = cells.map((texts) => Math.max(...texts.map((text) => text.length)));
  const last = widths.length - 1;
  const whole = cells.map((texts) => texts.some((text) => uuid.test(text)));
  const room = screenColumns() - gap * last - Math.min(widths[last] ?? 0, lastNeeds);
  for (;;) {
    const others = widths.slice(0, last);
    if (others.reduce((sum, width) => sum + width, 0) <= room) break;
    const most = Math.max(...others.filter((_width, column) => whole[column] !== true), 0);
    if (most <= narrowest) break;
    const widest = others.findIndex((width, column) => width === most && whole[column] !== true);
    widths[widest] = most - 1;
  }
  const before = widths.slice(0, last).reduce((sum, width) => sum + width + gap, 0);
  widths[last] = Math.max(narrowest, Math.min(widths[last] ?? 0, screenColumns() - before));
  return widths;
}

function linesOf(row: readonly string[], widths: readonly number[]): readonly string[] {
  const last = widths.length - 1;
  const head = widths
    .slice(0, last)
    .map((width, column) => clip(row[column] ?? '', width).padEnd(width + gap))
    .join('');
  const [first = '', ...more] = wrapped(row[last] ?? '', widths[last] ?? 0);
  return [`${head}${first}`.trimEnd(), ...more.map((line) => `${' '.repeat(head.length)}${line}`)];
}

/** Breaks between words, and within a word that is longer than a line. */
function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ').flatMap((each) => pieces(each, width))) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

function pieces(word: string, width: number): readonly string[] {
  if (word.length <= width || uuid.test(word)) return [word];
  return Array.from({ length: Math.ceil(word.length / width) }, (_piece, n) =>
    word.slice(n * width, (n + 1) * width),
  );
}
