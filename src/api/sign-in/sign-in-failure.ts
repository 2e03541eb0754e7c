import { OutboxError } from '../../core/errors.ts';
import { isObject } from '../../core/options/collections.ts';

/** What a provider says of itself, not of the person. */
const away = new Set(['server_error', 'temporarily_unavailable', 'OAUTH_TIMEOUT', 'OAUTH_ABORT']);
/** What it says of this client. */
const refused = new Set(['invalid_client', 'unauthorized_client', 'OAUTH_WWW_AUTHENTICATE_CHALLENGE']);

/**
 * Why a sign-in was not finished. It does not repeat what was sent or answered: that may be a code or a token. What is not known
 * to be the provider's fault proves nobody.
 */
export function signInFailure(error: unknown): OutboxError {
  if (error instanceof OutboxError) return error;
  const layers = layersOf(error);
  const said = new Set(layers.flatMap((layer) => [textOf(layer, 'code'), textOf(layer, 'error')]));
  const broken = layers.some((layer) => Number(textOf(layer, 'status')) >= 500);
  const unreachable = layers.some((layer) => layer instanceof TypeError && layer.message === 'fetch failed');
  if (unreachable || [...away].some((word) => said.has(word)) || broken) return providerAway();
  if ([...refused].some((word) => said.has(word)))
    return new OutboxError(
      'OUTBOX_SERVER_REFUSED',
      'The provider of the sign-in refuses the client or its secret.',
      { details: provider },
    );
  return new OutboxError('OUTBOX_REQUEST_UNPROVED', 'The sign-in failed; begin it again.');
}

const provider = { server: 'The provider of the sign-in' };

/** The error while it does not answer. */
export function providerAway(cause?: unknown): OutboxError {
  const said = 'The provider of the sign-in does not answer.';
  return new OutboxError('OUTBOX_SERVER_UNAVAILABLE', said, { cause, details: provider });
}

/** The error and its causes. */
function layersOf(error: unknown): readonly object[] {
  const layers: object[] = [];
  for (let layer = error; isObject(layer) && layers.length < 5; layer = Reflect.get(layer, 'cause'))
    layers.push(layer);
  return layers;
}

function textOf(layer: object, name: string): string {
  return String(Reflect.get(layer, name));
}
