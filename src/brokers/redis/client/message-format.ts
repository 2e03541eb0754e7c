import { readJson } from '../../../core/json.ts';
/** The fields of a message's stream entry. There is one more per header, its name prefixed with {@link headerField}. */
export const entryFields = { id: 'id', key: 'key', payload: 'payload' } as const;
/** Prefix of header fields, so that a header cannot collide with another field. */
export const headerField = 'header:';

/** A message as JSON text, for lists and channels, whose values have no fields. */
export interface Envelope {
  readonly id: string;
  /** `null` if it has none. */
  readonly key: string | null;
  /** When it was sent, in milliseconds since 1970. */
  readonly sentAtMs: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: string;
}

/** @param message may have more properties; they are ignored */
export function envelopeText({ id, key, sentAtMs, headers, payload }: Envelope): string {
  return JSON.stringify({ id, key, sentAtMs, headers, payload });
}

/** Parses an envelope; `undefined` for anything else, such as messages of other senders. */
export function readEnvelope(text: string): Envelope | undefined {
  // Rejects most messages of other senders without parsing.
  if (!text.startsWith('{"id":"')) return undefined;
  const value = readJson(text);
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
