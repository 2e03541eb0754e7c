import type { Authentication } from '../../../../src/api/authentication.ts';

/** A browser that knows cookies of `https://outbox.test`, whose requests go to an authentication, and of one provider. */
export class Browser {
  readonly authentication: Authentication;
  readonly cookies = new Map<string, string>();
  /** The last headers `Set-Cookie`, as they came. */
  set: readonly string[] = [];

  constructor(authentication: Authentication) {
    this.authentication = authentication;
  }

  request(path: string, init: RequestInit = {}): Request {
    const headers = new Headers(init.headers);
    if (this.cookies.size > 0)
      headers.set('cookie', [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; '));
    return new Request(`https://outbox.test${path}`, { ...init, headers });
  }

  /** Asks for one of the paths of the authentication. */
  async go(path: string, init: RequestInit = {}): Promise<Response> {
    const response = await this.authentication.handle?.(this.request(path, init));
    if (response === undefined) throw new Error(`Nothing answers to ${path}.`);
    this.set = response.headers.getSetCookie();
    for (const one of this.set) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(one) ?? [];
      if (/Max-Age=0/.test(one)) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return response;
  }

  /** Begins a sign-in, and lets the provider lead back. @returns path and query of the callback */
  async comeBack(): Promise<string> {
    const begun = await this.go('/sign-in');
    return throughProvider(begun.headers.get('location') ?? '');
  }

  /** The whole sign-in. */
  async signIn(): Promise<Response> {
    return this.go(await this.comeBack());
  }

  who() {
    return this.authentication.caller(this.request('/me'));
  }
}

/** Follows the redirects of the provider until they leave it. @param cookies that the browser has of it */
export async function throughProvider(start: string, cookies = new Map<string, string>()): Promise<string> {
  let at = new URL(start);
  const { origin } = at;
  for (let step = 0; step < 10 && at.origin === origin; step += 1) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(at, { redirect: 'manual', headers: { cookie } });
    for (const one of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(one) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get('location');
    if (location === null)
      throw new Error(`The provider answered ${response.status}: ${await response.text()}`);
    at = new URL(location, at);
  }
  return `${at.pathname}${at.search}`;
}
