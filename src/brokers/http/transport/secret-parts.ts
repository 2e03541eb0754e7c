/** Shorter ones occur by chance. */
const leastLength = 5;

/**
 * What of configured headers an answer must not repeat: whole values, what follows a scheme (`Bearer …`), the password of `Basic …`,
 * and the values of lists such as `a=b; c=d`. The longest first, so that none leaves a part of another.
 */
export function secretParts(headers: Readonly<Record<string, string>>): readonly string[] {
  const parts = Object.values(headers).flatMap((value) => [value, ...partsOf(value)]);
  return [...new Set(parts)]
    .filter((part) => part.length >= leastLength)
    .toSorted((a, b) => b.length - a.length);
}

function partsOf(value: string): readonly string[] {
  const [scheme = '', ...rest] = value.split(/[\s;,]+/);
  const tokens = rest.length === 0 || scheme.includes('=') ? [scheme, ...rest] : rest;
  const basic = scheme.toLowerCase() === 'basic' ? userAndPassword(rest.join(' ')) : [];
  return [...tokens.flatMap(withoutName), ...basic];
}

/** The token, and `b` of `a=b` or `a="b"`. */
function withoutName(token: string): readonly string[] {
  const at = token.indexOf('=');
  return at <= 0 ? [token] : [token, token.slice(at + 1).replaceAll(/^"|"$/g, '')];
}

function userAndPassword(encoded: string): readonly string[] {
  const text = Buffer.from(encoded, 'base64').toString();
  return [text, text.slice(text.indexOf(':') + 1)];
}
