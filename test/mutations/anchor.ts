/** What an entry of the list stands for in a source of today. */
export interface Anchor {
  readonly start: number;
  readonly end: number;
  /** Names that have changed since the entry was written: its replacement needs the new ones. */
  readonly renamed: ReadonlyMap<string, string>;
}

interface Token {
  readonly text: string;
  readonly start: number;
}

/** More changed names than this are another statement. */
const mostRenamed = 2;
/** Fewer tokens than this that still agree could be any statement. */
const fewestEqual = 3;

const word = /^[\p{L}\p{N}_]+$/u;
const tokenOf = /[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu;

/**
 * Where a part of a program stands: by its tokens, so that layout does not matter; and where its tokens are gone, by the same
 * ones with other names, if those of the entry are no longer in the source at all.
 *
 * @returns every place that fits equally well
 */
export function anchorsOf(source: string, part: string): readonly Anchor[] {
  const tokens = tokensOf(source);
  const wanted = tokensOf(part).map(({ text }) => text);
  const exact = placesOf(tokens, wanted, (token, want) => token === want);
  if (exact.length > 0) return exact.map((at) => anchorAt(tokens, at, wanted, new Map()));
  const known = new Set(tokens.map(({ text }) => text));
  const gone = new Set(wanted.filter((want) => word.test(want) && !/^\d/.test(want) && !known.has(want)));
  if (gone.size === 0 || gone.size > mostRenamed) return [];
  if (wanted.filter((want) => !gone.has(want)).length < fewestEqual) return [];
  const places = placesOf(
    tokens,
    wanted,
    (token, want) => token === want || (gone.has(want) && word.test(token)),
  ).flatMap((at) => {
    const renamed = namesOf(tokens, at, wanted, gone);
    return renamed === undefined ? [] : [anchorAt(tokens, at, wanted, renamed)];
  });
  return mostAlike(places);
}

/** A new name mostly has some of the words of the old one. */
function mostAlike(places: readonly Anchor[]): readonly Anchor[] {
  if (places.length < 2) return places;
  const alike = places.map(({ renamed }) =>
    [...renamed].reduce(
      (sum, [old, now]) => sum + wordsOf(old).filter((part) => wordsOf(now).includes(part)).length,
      0,
    ),
  );
  const most = Math.max(...alike);
  return most === 0 ? places : places.filter((_, index) => alike[index] === most);
}

function wordsOf(name: string): readonly string[] {
  return name.split(/(?<=[a-z])(?=[A-Z])|_/).map((part) => part.toLowerCase());
}

/** The text with the names that its source has now. */
export function withNames(text: string, renamed: Anchor['renamed']): string {
  return text.replaceAll(tokenOf, (token) => renamed.get(token) ?? token);
}

function tokensOf(text: string): readonly Token[] {
  return [...text.matchAll(tokenOf)].map((match) => ({ text: match[0], start: match.index }));
}

function placesOf(
  tokens: readonly Token[],
  wanted: readonly string[],
  fits: (token: string, want: string) => boolean,
): readonly number[] {
  const places: number[] = [];
  for (let at = 0; at + wanted.length <= tokens.length; at += 1)
    if (wanted.every((want, index) => fits(tokens[at + index]?.text ?? '', want))) places.push(at);
  return places;
}

/** What each lost name is called at this place; undefined if one has two names there, or two have one. */
function namesOf(
  tokens: readonly Token[],
  at: number,
  wanted: readonly string[],
  gone: ReadonlySet<string>,
): ReadonlyMap<string, string> | undefined {
  const names = new Map<string, string>();
  for (const [index, want] of wanted.entries()) {
    if (!gone.has(want)) continue;
    const now = tokens[at + index]?.text ?? '';
    if ((names.get(want) ?? now) !== now) return undefined;
    names.set(want, now);
  }
  return new Set(names.values()).size === names.size ? names : undefined;
}

function anchorAt(
  tokens: readonly Token[],
  at: number,
  wanted: readonly string[],
  renamed: Anchor['renamed'],
): Anchor {
  const last = tokens[at + wanted.length - 1];
  return {
    start: tokens[at]?.start ?? 0,
    end: (last?.start ?? 0) + (last?.text.length ?? 0),
    renamed,
  };
}
