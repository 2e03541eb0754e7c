import { causeIn } from '../core/cause.ts';
import { readJson } from '../core/json.ts';
import { errorText } from './handling/kept.ts';
import { withoutValues } from './reading/without-values.ts';

/** What went wrong with messages in progress. */
export interface ToldFailure {
  readonly error: unknown;
  /** The bodies of all these messages, as they arrived. */
  readonly bodies: readonly (Uint8Array | null)[];
}

/**
 * The text of an error, for readers who may not see payloads: each string and number of the bodies that it quotes is
 * replaced by `…`. Values that a handler has derived from them are not recognized. At most 400 characters.
 */
export function toldError({ error, bodies }: ToldFailure): string {
  const [told = ''] = withoutValues([causeIn(errorText(error))], bodies.map(valueOf));
  return told;
}

/** A body that is not JSON counts as one value. */
function valueOf(body: Uint8Array | null): unknown {
  if (body === null) return null;
  const text = Buffer.from(body).toString();
  const value = readJson(text);
  return value === undefined ? text : value;
}
