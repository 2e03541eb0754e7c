/** Key and headers of a message. */
export interface Wire {
  readonly key: string | null;
  readonly headers: Readonly<Record<string, string>>;
}

/** As it is stored: JSON as text, because jsonb does not accept NUL. */
export function writeWire({ key, headers }: Wire): string {
  return JSON.stringify({ key, headers });
}

/** Parses what {@link writeWire} wrote. */
export function readWire(text: string): Wire {
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null) return { key: null, headers: {} };
  const key = 'key' in value && typeof value.key === 'string' ? value.key : null;
  const headers = 'headers' in value && typeof value.headers === 'object' ? value.headers : {};
  return { key, headers: Object.fromEntries(textsOf(headers ?? {})) };
}

function textsOf(headers: object): readonly (readonly [string, string])[] {
  return Object.entries(headers).flatMap(([name, value]: readonly [string, unknown]) =>
    typeof value === 'string' ? [[name, value] as const] : [],
  );
}
