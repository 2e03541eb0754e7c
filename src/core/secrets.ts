import { shared } from './shared.ts';

/** All secrets that were read, the latest last: those of functions change. */
const known = shared('secrets', () => new Set<string>());
const mostKnown = 1_000;
/** Shorter ones occur by chance. */
const leastLength = 5;
/** What people call a password on their own machine, such as `postgres`, is part of too many texts. */
const word = /^[a-z]{1,8}$/;

/**
 * Remembers a password, key or token as it is read, so that no text of an error repeats it: a server, a driver or a proxy may quote
 * what it refuses.
 *
 * @param shown what is no secret beside it, such as its user: as a password it is none, either
 * @returns the same
 */
export function secret<Given>(given: Given, ...shown: readonly (string | undefined)[]): Given {
  if (typeof given !== 'string' || given.length < leastLength || word.test(given) || shown.includes(given))
    return given;
  for (const form of formsOf(given)) {
    known.delete(form);
    known.add(form);
  }
  for (const [oldest] of known.entries()) {
    if (known.size <= mostKnown) break;
    known.delete(oldest);
  }
  return given;
}

/** As it is written, and as it is sent: in an address, or in base64, alone or behind a user, as in `Basic` and `PLAIN`. */
function formsOf(given: string): readonly string[] {
  const base64 = [0, 1, 2].map((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(given)]);
    // Without the characters that have bits of what is before and behind it.
    return bytes.toString('base64').slice(Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6));
  });
  const encoded = [Buffer.from(given).toString('base64'), ...base64];
  const forUrls = encoded.map((one) => one.replaceAll('+', '-').replaceAll('/', '_'));
  return [given, encodeURIComponent(given), ...encoded, ...forUrls];
}

/** Remembers the password in a URL, as it is written and as it is meant. */
export function secretIn({ password, username }: URL): void {
  secret(password, username);
  try {
    secret(decodeURIComponent(password), username);
  } catch {
    // It is meant as it is written.
  }
}

/** The text without every secret that was read, the longest first, so that none leaves a part of another. */
export function withoutSecrets(text: string): string {
  let told = text;
  for (const one of [...known].toSorted((a, b) => b.length - a.length)) told = told.replaceAll(one, '…');
  return told;
}
