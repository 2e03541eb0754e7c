import { type ConnectionOptions, checkServerIdentity } from 'node:tls';
import type { ClientConfig } from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';
import { askSecret } from '../../core/ask-secret.ts';
import { OutboxError } from '../../core/errors.ts';
import { ownReasonOf } from '../../core/reason.ts';
import { secret } from '../../core/secrets.ts';
import type { DatabaseAddress } from './database-address.ts';
import { ownTypes } from './own-types.ts';

/**
 * The address as options of pg. In pg itself the address takes precedence, even if it has no password.
 *
 * @throws OutboxError `OUTBOX_CONFIG_INVALID` for an address that cannot be read
 */
export function clientConfig({ url, tls, password }: DatabaseAddress): ClientConfig {
  const { application_name = 'temporal-outbox', ...parsed } = parsedAddress(url);
  const shown = [parsed.user, parsed.database, parsed.host];
  if (typeof parsed.password === 'string') secret(parsed.password, ...shown);
  if (typeof password === 'string') secret(password, ...shown);
  return {
    ...parsed,
    application_name,
    types: ownTypes,
    ...(tls !== undefined && { ssl: typeof tls === 'boolean' ? tls : namedAs(tls) }),
    ...(password !== undefined && {
      password: typeof password === 'string' ? password : () => askSecret('database.password', password),
    }),
  };
}

/** The error of Node is not its cause: it has the whole address, with the password, which whoever prints it would see. */
function parsedAddress(url: string): ClientConfig {
  try {
    return parseIntoClientConfig(url);
  } catch (error) {
    throw new OutboxError(
      'OUTBOX_CONFIG_INVALID',
      `The address of the database cannot be read: ${ownReasonOf(error)}. A "%" of a password is written as %25, and others of / ? # @ : by their codes.`,
      { details: { setting: 'database.url' } },
    );
  }
}

/** pg replaces `servername` by the host of the address, so the certificate is compared with `servername` here. */
function namedAs(tls: ConnectionOptions): ConnectionOptions {
  const { servername } = tls;
  // Always a copy, because pg changes the object: it hides the key.
  if (servername === undefined || tls.checkServerIdentity !== undefined) return { ...tls };
  return {
    ...tls,
    checkServerIdentity: (_host, certificate) => checkServerIdentity(servername, certificate),
  };
}
