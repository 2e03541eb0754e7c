import { OutboxError } from '../core/errors.ts';
import { Denied } from './denied.ts';

/**
 * Refuses a change that another site had a browser make: the browser would send the caller's proof by itself. Browsers say where a
 * request comes from, by `Sec-Fetch-Site`, or older ones by `Origin`; a request that does not say is refused, too.
 *
 * @throws Denied
 */
export function requireSameOrigin(request: Request): void {
  const site = request.headers.get('sec-fetch-site');
  const origin = request.headers.get('origin');
  if (site === null ? origin !== null && isOwn(origin, request) : site === 'same-origin') return;
  throw new Denied(
    'cross-site',
    new OutboxError('OUTBOX_REQUEST_CROSS_SITE', 'The change does not come from a page of this address.'),
  );
}

/** Host and port that the client asked for. */
export function hostAsked(request: Request): string {
  return (request.headers.get('host') ?? new URL(request.url).host).toLowerCase();
}

/**
 * A page in the clear of the same host may be of somebody on the line. A server behind a proxy that speaks TLS does not see the scheme
 * that the browser has used, so one in TLS is its own whatever this server speaks.
 */
function isOwn(origin: string, request: Request): boolean {
  if (!URL.canParse(origin)) return false;
  const { host, protocol } = new URL(origin);
  return host === hostAsked(request) && (protocol === 'https:' || protocol === new URL(request.url).protocol);
}
