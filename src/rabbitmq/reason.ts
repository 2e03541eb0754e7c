import { reasonOf } from '../core/reason.ts';
import { isTlsFailure } from '../core/tls-failure.ts';

/** The reply code of the server, or the text that Node has as code, where there is one. */
export function codeOf(error: unknown): number | string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const code: unknown = Reflect.get(error, 'code');
  return typeof code === 'number' || typeof code === 'string' ? code : undefined;
}

/**
 * Why a connection could not be made, with its place and what to look at.
 *
 * @param place `host:port`
 */
export function connectReason(place: string, error: unknown): string {
  const code = codeOf(error);
  const said = reasonOf(error).trim();
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER')
    return `TLS with ${place} failed: it answered otherwise, as a port without TLS does`;
  if (typeof code === 'string' && isTlsFailure(code)) return `TLS with ${place} failed: ${said}`;
  if (said.startsWith('Socket closed abruptly'))
    return `${place} closed the connection before it spoke AMQP: it may want TLS (amqps://)`;
  return said.includes(place) ? said : `${place}: ${said}`;
}
