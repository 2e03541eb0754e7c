/** Makes foreign text safe for a terminal: control characters are shown as escapes. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu, (character) => {
    const code = character.charCodeAt(0).toString(16).padStart(4, '0');
    return `\\u${code}`;
  });
}

/** At most `width` columns of a printable text; a cut is marked by an ellipsis. */
export function clip(text: string, width: number): string {
  const shown = printable(text);
  return shown.length <= width ? shown : `${shown.slice(0, width - 1)}…`;
}
