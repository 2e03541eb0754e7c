/** Names with this prefix are taken by browsers over TLS only, for this host only, and for all its paths. */
const prefix = '__Host-';

/** The API session. */
export const sessionCookie = `${prefix}outbox`;
/** A sign-in that has begun. */
export const beginningCookie = `${prefix}outbox-sign-in`;

/**
 * A cookie for the header `Set-Cookie`: not for scripts, over TLS only, of this host alone.
 *
 * @param sameSite `Strict`, but for what has to come along when the provider leads the browser back, `Lax`
 * @param seconds how long the browser keeps it; 0 deletes it; without it, until it is closed
 */
export function cookie(name: string, value: string, sameSite: 'Lax' | 'Strict', seconds?: number): string {
  const age = seconds === undefined ? '' : `; Max-Age=${seconds}`;
  return `${name}=${value}; Path=/; HttpOnly; Secure; SameSite=${sameSite}${age}`;
}

/** Value of the cookie that a request sends. Of several with this name, none: only one can be ours. */
export function cookieOf(request: Request, name: string): string | undefined {
  const values = (request.headers.get('cookie') ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  return values.length === 1 ? values[0] : undefined;
}
