/** What a message brought along besides its body. */
export interface Wire {
  readonly key: string | null;
  readonly headers: Readonly<Record<string, string>>;
}

/** As it is kept: a text, for a value with NUL fits no other type of PostgreSQL. */
export function writeWire({ key, headers }: Wire): string {
  return JSON.stringify({ key, headers });
}

/** What {@link writeWire} wrote. */
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
