/**
 * The value of a text that somebody else has written; `undefined`: it is no JSON. What a parser says of it is not passed on: it quotes
 * the text.
 */
export function readJson(text: string): unknown {
  try {
    // oxlint-disable-next-line eslint/no-restricted-properties -- this is the reader
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
