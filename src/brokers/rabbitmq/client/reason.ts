import { reasonOf } from '../../../core/reason.ts';
import { isTlsFailure } from '../../../core/tls-failure.ts';

/** The reply code of the server, or the error code of Node; `undefined` if there is none. */
export function codeOf(error: unknown): number | string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const code: unknown = Reflect.get(error, 'code');
  return typeof code === 'number' || typeof code === 'string' ? code : undefined;
}

/**
 * Why a connection failed, with its address and a hint.
 *
 * @param address `host:port`
 */
export function connectReason(address: string, error: unknown): string {
  const code = codeOf(error);
  const said = reasonOf(error).trim();
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER')
    return `TLS with ${address} failed: it answered otherwise, as a port without TLS does`;
  if (typeof code === 'string' && isTlsFailure(code)) return `TLS with ${address} failed: ${said}`;
  if (said.startsWith('Socket closed abruptly') || code === 'ECONNRESET')
    return `${address} closed the connection before it spoke AMQP: it may want TLS (amqps://)`;
  return said.includes(address) ? said : `${address}: ${said}`;
}
