import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider } from 'oidc-provider';
import { signedOutUrl } from './sign-in-bench.ts';

/** What the provider says about whoever signs in. */
export interface Account {
  readonly sub: string;
  readonly [claim: string]: unknown;
}

/** A real provider of OpenID Connect on this machine, at which `account` signs in without being asked. */
export interface LocalProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  account: Account;
  /** How often somebody had to sign in, because the browser had no session here. */
  readonly signIns: number;
  stop(): Promise<void>;
}

const client = { clientId: 'outbox', clientSecret: 'secret-of-the-outbox-client' };

/** @param inUserinfo true: claims are not in the ID token, as the specification wants it */
export async function startProvider(redirectUrl: string, inUserinfo = false): Promise<LocalProvider> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let signIns = 0;
  const started: LocalProvider = {
    issuer,
    ...client,
    account: { sub: 'nobody' },
    get signIns() {
      return signIns;
    },
    async stop() {
      server.closeAllConnections();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
  };
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: client.clientId,
        client_secret: client.clientSecret,
        redirect_uris: [redirectUrl],
        post_logout_redirect_uris: [signedOutUrl],
      },
    ],
    jwks: { keys: [{ ...signingKey().export({ format: 'jwk' }), kid: 'one', use: 'sig', alg: 'RS256' }] },
    cookies: { keys: ['cookies of the provider'] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
    conformIdTokenClaims: inUserinfo,
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    ttl: { AccessToken: 60, AuthorizationCode: 60, Grant: 60, IdToken: 60, Interaction: 60, Session: 60 },
    findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ ...started.account, sub }) }),
    loadExistingGrant: async ({ oidc }) => {
      const grant = new provider.Grant({
        clientId: client.clientId,
        ...(oidc.session?.accountId !== undefined && { accountId: oidc.session.accountId }),
      });
      grant.addOIDCScope('openid email groups');
      await grant.save();
      return grant;
    },
  });
  const answer = provider.callback();
  const signIn = (request: IncomingMessage, response: ServerResponse) => {
    signIns += 1;
    return provider.interactionFinished(request, response, { login: { accountId: started.account.sub } });
  };
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    void (request.url?.startsWith('/interaction/') === true
      ? signIn(request, response)
      : answer(request, response));
  });
  return started;
}

/** Signs ID tokens. */
export function signingKey() {
  return generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
}
