/**
 * A text that somebody else has written, as PostgreSQL can store it: it refuses NUL, and in JSON also half of a surrogate pair, such
 * as the end of a text that was cut. What records a failure must not fail because of its words.
 */
export function storableText(text: string): string {
  return Buffer.from(text.replaceAll('\0', '\u2400')).toString();
}

/** The same for all texts of a value that is stored as JSON. */
export function storableJson(value: unknown): string {
  return JSON.stringify(value, (_name, part: unknown) =>
    typeof part === 'string' ? storableText(part) : part,
  );
}
