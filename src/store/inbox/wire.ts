/** Key and headers of a message, and what is known of its tries. */
export interface Wire {
  readonly key: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** The `traceparent` of its first try, which later ones link to. @defaultValue it was not traced */
  readonly firstTry?: string | undefined;
}

/** As it is stored: JSON as text, because jsonb does not accept NUL. */
export function writeWire({ firstTry, key, headers }: Wire): string {
  return JSON.stringify({ key, headers, firstTry });
}

/** Parses what {@link writeWire} wrote. */
export function readWire(text: string): Wire {
  // oxlint-disable-next-line eslint/no-restricted-properties -- it was written above
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null) return { key: null, headers: {} };
  const key = 'key' in value && typeof value.key === 'string' ? value.key : null;
  const headers = 'headers' in value && typeof value.headers === 'object' ? value.headers : {};
  const firstTry = 'firstTry' in value && typeof value.firstTry === 'string' ? value.firstTry : undefined;
  return {
    key,
    headers: Object.fromEntries(textsOf(headers ?? {})),
    ...(firstTry !== undefined && { firstTry }),
  };
}

function textsOf(headers: object): readonly (readonly [string, string])[] {
  return Object.entries(headers).flatMap(([name, value]: readonly [string, unknown]) =>
    typeof value === 'string' ? [[name, value] as const] : [],
  );
}
