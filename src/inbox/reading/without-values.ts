/** A text may quote only the beginning of a value that is longer. */
const probeLength = 24;
const hidden = '…';
const letter = /[\p{L}\p{N}]/u;

/** Longer texts are cut: some schemas list every field of a payload. */
const longestText = 400;

/**
 * Removes the values of a payload from texts about it: each string and number of the payload that a text quotes is
 * replaced by `…`, also where only the beginning of a long one is quoted. Names of fields stay.
 */
export function withoutValues(texts: readonly string[], payload: unknown): readonly string[] {
  // With a margin, because the cut may split a quoted value; the margin is dropped after all values are replaced.
  let left = texts.map((text) => text.slice(0, longestText + probeLength));
  // A payload may have a million values: a single search rules out nearly all of them.
  const all = left.join('\n');
  for (const value of valuesIn(payload)) {
    if (all.includes(value.length > probeLength ? value.slice(0, probeLength) : value))
      left = left.map((text) => without(text, value));
  }
  return left.map((text, n) =>
    texts[n] !== undefined && texts[n].length > longestText + probeLength
      ? `${text.slice(0, -probeLength)}${hidden}`
      : text,
  );
}

/** Every string and number in the payload, without recursion: it may be nested to any depth. */
function* valuesIn(payload: unknown): Generator<string> {
  const open: unknown[] = [payload];
  // JSON has no cycles, but the result of an upcaster may.
  const seen = new Set<unknown>();
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next === 'string' && next !== '') yield* waysToQuote(next);
    else if (typeof next === 'number') yield String(next);
    else if (typeof next === 'object' && next !== null && !seen.has(next)) {
      seen.add(next);
      for (const inner of Object.values(next)) open.push(inner);
    }
  }
}

/** The value as it is, and as JSON escapes it. */
function waysToQuote(value: string): readonly string[] {
  return /["\\\p{Cc}\p{Surrogate}]/u.test(value) ? [value, JSON.stringify(value).slice(1, -1)] : [value];
}

function without(text: string, value: string): string {
  const probe = value.slice(0, probeLength);
  let done = '';
  let rest = text;
  for (let at = rest.indexOf(probe); at >= 0; at = rest.indexOf(probe)) {
    const end = at + sharedLength(rest, at, value);
    const before = done + rest.slice(0, at);
    const after = rest.slice(end);
    // A short value may occur by chance within a word.
    const isPiece = letter.test(before.at(-1) ?? '') || letter.test(after.at(0) ?? '');
    done = before + (isPiece && value.length < probeLength ? rest.slice(at, end) : hidden);
    rest = after;
  }
  return done + rest;
}

function sharedLength(text: string, at: number, value: string): number {
  let length = 0;
  while (length < value.length && text[at + length] === value[length]) length += 1;
  return length;
}
