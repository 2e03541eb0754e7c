import type { TestContext } from 'vitest';
import type { Authentication } from '../../../../src/api/authentication.ts';
import { openIdConnect } from '../../../../src/api/sign-in/open-id-connect.ts';
import type { OpenIdConnectOptions } from '../../../../src/api/sign-in/open-id-connect-options.ts';

export const redirectUrl = 'https://outbox.test/callback';
export const signedOutUrl = 'https://outbox.test/signed-out';
const secret = 'a secret of the API that is long enough';

/** Options that work with the local provider. */
export function optionsOf(
  issuer: { readonly issuer: string; readonly clientId: string; readonly clientSecret: string },
  databaseUrl: string,
): OpenIdConnectOptions {
  return {
    issuer: issuer.issuer,
    clientId: issuer.clientId,
    clientSecret: () => issuer.clientSecret,
    redirectUrl,
    database: { url: databaseUrl },
    scopes: ['email', 'groups'],
    roles: {
      claim: 'groups',
      values: {
        'outbox-admins': { role: 'admin', payloads: true },
        'outbox-orders': { role: 'operator', topics: ['orders'] },
      },
    },
    session: { secret: () => secret },
  };
}

/** An authentication that is closed when the test ends. */
export function opened(context: TestContext, options: OpenIdConnectOptions): Authentication {
  const made = openIdConnect(options);
  context.onTestFinished(async () => made.close?.());
  return made;
}
