import { type KeyObject, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { signingKey } from './local-provider.ts';

/** An ID token before it is signed. */
export interface Forgery {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
  /** Another way to sign it, or none. @defaultValue by the published key */
  readonly sign?: (text: string) => string;
}

/** A provider that answers every code with the token that a test makes of the right one. */
export interface ForgingProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** What it does to a token that would be accepted. */
  forge: (right: Forgery) => Forgery;
  /** Its key, which it publishes. */
  readonly key: KeyObject;
  /** The nonce that it was asked for. */
  nonce: string;
  /** What it says of the person beside the ID token; `undefined`: nothing. */
  userinfo: object | undefined;
  /** How often each of its paths was asked. */
  readonly asked: Map<string, number>;
  stop(): Promise<void>;
}

/** A key that the provider does not publish. */
export const strangersKey = signingKey();

export async function startForgingProvider(): Promise<ForgingProvider> {
  const key = signingKey();
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { e, kty, n } = key.export({ format: 'jwk' });
  const started: ForgingProvider = {
    issuer,
    clientId: 'outbox',
    clientSecret: 'secret-of-the-outbox-client',
    key,
    forge: (right) => right,
    nonce: '',
    userinfo: undefined,
    asked: new Map(),
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  const answers: Readonly<Record<string, () => object>> = {
    '/.well-known/openid-configuration': () => ({
      issuer,
      authorization_endpoint: `${issuer}/auth`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      ...(started.userinfo !== undefined && { userinfo_endpoint: `${issuer}/userinfo` }),
      // A provider that would offer everything.
      id_token_signing_alg_values_supported: ['RS256', 'PS256', 'HS256', 'none'],
    }),
    '/jwks': () => ({ keys: [{ kty, n, e, kid: 'one', use: 'sig' }] }),
    '/userinfo': () => started.userinfo ?? {},
    '/token': () => ({
      access_token: 'token',
      token_type: 'Bearer',
      id_token: tokenOf(started.forge(rightOf(started))),
    }),
  };
  const tokenOf = ({ claims, header, sign: by = (text: string) => signedBy(key)(text) }: Forgery): string => {
    const text = [header, claims]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    return `${text}.${by(text)}`;
  };
  server.on('request', ({ url = '' }, response) => {
    started.asked.set(url, (started.asked.get(url) ?? 0) + 1);
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(answers[url]?.() ?? {}));
  });
  return started;
}

/** Signs by RS256. */
export const signedBy = (key: KeyObject) => (text: string) =>
  sign('sha256', Buffer.from(text), key).toString('base64url');

function rightOf({ clientId, issuer, nonce }: ForgingProvider): Forgery {
  const now = Math.floor(Date.now() / 1_000);
  return {
    header: { alg: 'RS256', kid: 'one' },
    claims: {
      iss: issuer,
      aud: clientId,
      sub: 'u-1',
      nonce,
      iat: now,
      exp: now + 60,
      groups: ['outbox-admins'],
    },
  };
}
