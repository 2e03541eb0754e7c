/** The fields of a stream entry that holds a message. One more per header, with {@link headerField} before its name. */
export const entryFields = { id: 'id', key: 'key', payload: 'payload' } as const;
/** Begins the name of a field that holds a header, so that none is taken for another field. */
export const headerField = 'header:';

/** A message as a text of JSON: what lists and channels hold, whose values have no fields. */
export interface Envelope {
  readonly id: string;
  /** `null`: it has none. */
  readonly key: string | null;
  /** When it was sent, in milliseconds since 1970. */
  readonly sentAtMs: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: string;
}

/** @param message may have more properties; they are left out */
export function envelopeText({ id, key, sentAtMs, headers, payload }: Envelope): string {
  return JSON.stringify({ id, key, sentAtMs, headers, payload });
}

/** The envelope in a text; `undefined` where it holds something else, which was sent by others. */
export function readEnvelope(text: string): Envelope | undefined {
  // Most of what others send is told apart without parsing it.
  if (!text.startsWith('{"id":"')) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  return isEnvelope(value) ? value : undefined;
}

function isEnvelope(value: unknown): value is Envelope {
  if (!isRecord(value)) return false;
  const { headers, id, key, payload, sentAtMs } = value;
  return (
    typeof id === 'string' &&
    (key === null || typeof key === 'string') &&
    typeof payload === 'string' &&
    typeof sentAtMs === 'number' &&
    isRecord(headers) &&
    Object.values(headers).every((header) => typeof header === 'string')
  );
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
