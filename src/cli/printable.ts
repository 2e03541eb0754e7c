import { currentHost } from './host.ts';

/** Makes foreign text safe for a terminal: control characters are shown as escapes. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu, (character) => {
    const code = character.charCodeAt(0).toString(16).padStart(4, '0');
    return `\\u${code}`;
  });
}

/**
 * Columns that a line may have: those of the terminal, or of the variable `COLUMNS`. Without a terminal, as in a pipe or a
 * file, nothing is cut.
 */
export function screenColumns(): number {
  const given = Number(process.env['COLUMNS']);
  if (given > 0) return given;
  const { columns, isTTY = false } = currentHost().stdout;
  return isTTY ? (columns ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY;
}

/** At most `width` columns of a printable text on a screen; a cut is marked by an ellipsis. */
export function clip(text: string, width: number): string {
  const shown = printable(text);
  return shown.length <= width || screenColumns() === Number.POSITIVE_INFINITY
    ? shown
    : `${shown.slice(0, width - 1)}…`;
}
