import { type ConnectionOptions, checkServerIdentity } from 'node:tls';
import type { ClientConfig } from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';
import { askSecret } from '../../core/ask-secret.ts';
import type { DatabaseAddress } from './database-address.ts';

/** The address as pg takes it. pg itself lets what stands in the address win, an absent password among it. */
export function clientConfig({ url, ssl, password }: DatabaseAddress): ClientConfig {
  const { application_name = 'temporal-outbox', ...parsed } = parseIntoClientConfig(url);
  return {
    ...parsed,
    application_name,
    ...(ssl !== undefined && { ssl: typeof ssl === 'boolean' ? ssl : namedAs(ssl) }),
    ...(password !== undefined && {
      password: typeof password === 'string' ? password : () => askSecret('database.password', password),
    }),
  };
}

/** pg puts the host of the address in place of `servername`; so the certificate is compared with that one here. */
function namedAs(ssl: ConnectionOptions): ConnectionOptions {
  const { servername } = ssl;
  // A copy in any case: pg hides the key in what it is given.
  if (servername === undefined || ssl.checkServerIdentity !== undefined) return { ...ssl };
  return {
    ...ssl,
    checkServerIdentity: (_host, certificate) => checkServerIdentity(servername, certificate),
  };
}
