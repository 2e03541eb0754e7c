import { causeIn } from '../core/cause.ts';
import { errorText } from './parked/kept.ts';
import { withoutValues } from './reading/without-values.ts';

/** What went wrong with messages in hand. */
export interface ToldFailure {
  readonly error: unknown;
  /** Of all of these messages, as they arrived. */
  readonly bodies: readonly (Uint8Array | null)[];
}

/**
 * What an error says, for those who may not see payloads: each text and number of the bodies that it quotes is replaced by
 * `…`. Values that a handler has made of them are not known. 400 characters at most.
 */
export function toldError({ error, bodies }: ToldFailure): string {
  const [told = ''] = withoutValues([causeIn(errorText(error))], bodies.map(valueOf));
  return told;
}

/** A body that is not JSON is one value. */
function valueOf(body: Uint8Array | null): unknown {
  if (body === null) return null;
  const text = Buffer.from(body).toString();
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
