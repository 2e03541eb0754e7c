import { randomBytes } from 'node:crypto';
import { apiSessions } from '../../app/operations/api-sessions.ts';
import { OutboxError, type OutboxErrorCode } from '../../core/errors.ts';
import type { Authentication, Caller } from '../authentication.ts';
import { Denied } from '../denied.ts';
import { problemOf, problemType } from '../problem.ts';
import { requireSameOrigin } from '../same-origin.ts';
import { type Beginning, beginningSeconds, openBeginning, sealBeginning } from './beginning.ts';
import { beginningCookie, cookie, cookieOf, sessionCookie } from './cookies.ts';
import { personOf, rightsOf, saysAll } from './granted.ts';
import { type OpenIdConnectOptions, openIdConnectOptions } from './open-id-connect-options.ts';
import { Provider } from './provider.ts';
import { callerOf, digestOf } from './rights.ts';
import { SpentBeginnings } from './spent-beginnings.ts';

/**
 * Proves people by a sign-in at a provider of OpenID Connect: authorization code with PKCE, state and nonce. It needs
 * `npm install openid-client@6`.
 *
 * A browser that opens `/sign-in` comes back signed in; `POST /sign-out` ends that for all processes at once, and leads a form on to
 * the provider's own sign-out, if there is one; a script gets its address, as `provider`. The id of a session is
 * 128 random bits in a `__Host-` cookie of `SameSite=Strict`, of which the table `outbox.api_session` keeps a hash. While the
 * provider is away, nobody can sign in, and who has signed in stays so; while the database is away, nobody is let in.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID`
 */
export function openIdConnect(given: OpenIdConnectOptions): Authentication {
  const signIn = new SignIn(given);
  return {
    caller: (request) => signIn.caller(request),
    handle: (request) => signIn.handle(request),
    close: () => signIn.close(),
  };
}

class SignIn {
  readonly #options: ReturnType<typeof openIdConnectOptions.read>;
  readonly #provider: Provider;
  readonly #sessions: ReturnType<typeof apiSessions>;
  readonly #providerName: () => string;
  readonly #spent = new SpentBeginnings();

  constructor(given: OpenIdConnectOptions) {
    const options = openIdConnectOptions.read(given);
    const { clientId, database, issuer, scopes = ['profile', 'email'], session } = options;
    this.#options = options;
    this.#provider = new Provider({ ...options, scopes });
    this.#providerName = () => `${issuer()} ${clientId()}`;
    const times = { idleMs: session.idle, longestMs: session.longest };
    this.#sessions = apiSessions(database, this.#providerName, times);
  }

  async caller(request: Request): Promise<Caller | undefined> {
    const idHash = sessionOf(request);
    const person = idHash === undefined ? undefined : await this.#sessions.use(idHash);
    const rights = person === undefined ? undefined : rightsOf(person.grants, this.#options.roles);
    return person === undefined || rights === undefined ? undefined : callerOf(person.name, rights, true);
  }

  /** Rejects where the fault is the server's, so that the API reports it. */
  async handle(request: Request): Promise<Response | undefined> {
    const path = new URL(request.url).pathname;
    const own = new Map([
      ['sign-in', { method: 'GET', answer: () => this.#begin() }],
      ['callback', { method: 'GET', answer: () => this.#finish(request) }],
      ['sign-out', { method: 'POST', answer: () => this.#end(request) }],
    ]);
    const name = path.slice(path.lastIndexOf('/') + 1);
    const route = own.get(name);
    // The folder is looked at last: where that option is wrong, other paths and other ways to prove a caller go on.
    if (route === undefined || path !== `${this.#folder()}${name}`) return undefined;
    if (request.method !== route.method) {
      const told = new OutboxError('OUTBOX_REQUEST_INVALID', `This path takes ${route.method} only.`);
      return refusal(told, { allow: route.method }, 405);
    }
    return route.answer();
  }

  close(): Promise<void> {
    return this.#sessions.close();
  }

  /** `/outbox/` of `https://example.com/outbox/callback`. */
  #folder(): string {
    return new URL(this.#options.redirectUrl()).pathname.replace(/callback$/, '');
  }

  async #begin(): Promise<Response> {
    const { beginning, url } = await this.#provider.begin();
    const sealed = sealBeginning(beginning, this.#options.session.secret(), this.#providerName());
    // Lax, because the provider's site leads the browser back: a Strict cookie would not come along.
    const kept = cookie(beginningCookie, sealed, 'Lax', beginningSeconds);
    return new Response(null, { status: 303, headers: { ...notStored, location: url, 'set-cookie': kept } });
  }

  async #finish(request: Request): Promise<Response> {
    try {
      const { nameClaim, roles } = this.#options;
      const claims = await this.#provider.finish(new URL(request.url).search, this.#begun(request), (told) =>
        saysAll(told, roles, nameClaim),
      );
      const person = personOf(claims, roles, nameClaim);
      if (person === undefined || person.grants.length === 0) {
        if (person !== undefined) await this.#sessions.noteDenied(person.name);
        throw new OutboxError('OUTBOX_REQUEST_DENIED', 'You have signed in, but you have no rights here.');
      }
      // Always a new one: an id that the browser brings may have been planted there.
      const id = randomBytes(16).toString('base64url');
      await this.#sessions.begin(hashOf(id), person, sessionOf(request));
      return this.#welcome(cookie(sessionCookie, id, 'Strict'));
    } catch (error) {
      if (!(error instanceof OutboxError) || !personsFaults.has(error.code)) throw error;
      return refusal(error, { 'set-cookie': forgotten });
    }
  }

  /** @throws OutboxError `OUTBOX_REQUEST_UNPROVED` */
  #begun(request: Request): Beginning {
    const sealed = cookieOf(request, beginningCookie);
    const secret = this.#options.session.secret();
    const begun = sealed === undefined ? undefined : openBeginning(sealed, secret, this.#providerName());
    if (begun !== undefined && this.#spent.spend(begun.state)) return begun;
    throw new OutboxError(
      'OUTBOX_REQUEST_UNPROVED',
      'This sign-in was not begun by this browser within ten minutes, or has been used; begin it again.',
    );
  }

  /** A page instead of a redirect: the browser would still follow that for the provider's site, without the Strict cookie. */
  #welcome(kept: string): Response {
    const home = this.#options.home ?? this.#folder();
    const page = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Signed in</title><meta http-equiv="refresh" content="0;url=${home}"><p>You are signed in. <a href="${home}">Continue</a></p></html>`;
    const headers = new Headers({ ...notStored, 'content-type': 'text/html; charset=utf-8' });
    headers.append('set-cookie', kept);
    headers.append('set-cookie', forgotten);
    return new Response(page, { headers });
  }

  async #end(request: Request): Promise<Response> {
    try {
      requireSameOrigin(request);
    } catch (error) {
      if (error instanceof Denied) return refusal(error.told);
      throw error;
    }
    const idHash = sessionOf(request);
    if (idHash !== undefined) await this.#sessions.end(idHash);
    const headers = { ...notStored, 'set-cookie': cookie(sessionCookie, '', 'Strict', 0) };
    // While the provider is away, at least this session has ended.
    const there = await this.#provider.signOutUrl().catch(() => undefined);
    if (there === undefined) return new Response(null, { status: 204, headers });
    // A script could not follow a redirect to another site, so the answer says where to lead the browser.
    if (request.headers.get('sec-fetch-mode') === 'navigate')
      return new Response(null, { status: 303, headers: { ...headers, location: there } });
    return new Response(JSON.stringify({ provider: there }), {
      headers: { ...headers, 'content-type': 'application/json' },
    });
  }
}

/** Others, such as an option that is read late, are the server's. */
const personsFaults: ReadonlySet<OutboxErrorCode> = new Set([
  'OUTBOX_REQUEST_DENIED',
  'OUTBOX_REQUEST_UNPROVED',
]);
const notStored = { 'cache-control': 'no-store' } as const;
const forgotten = cookie(beginningCookie, '', 'Lax', 0);

/** Hash of the id of the session that a request names; nothing if it is not of the form of ours. */
function sessionOf(request: Request): string | undefined {
  const id = cookieOf(request, sessionCookie);
  return id !== undefined && /^[\w-]{22}$/.test(id) ? hashOf(id) : undefined;
}

function hashOf(id: string): string {
  return digestOf(id).toString('hex');
}

function refusal(error: OutboxError, headers: Readonly<Record<string, string>> = {}, as?: number): Response {
  const { body, status } = problemOf(error, crypto.randomUUID(), as);
  return new Response(body, { status, headers: { ...notStored, 'content-type': problemType, ...headers } });
}
