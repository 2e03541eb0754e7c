import { type DatabaseConfig, databaseOptions } from '../../config/database-config.ts';
import type { Duration } from '../../core/duration.ts';
import { listOf, object, recordOf, type Table } from '../../core/options/collections.ts';
import { type Lazy, lazy } from '../../core/options/lazy.ts';
import { optionTable } from '../../core/options/option-table.ts';
import {
  asGiven,
  duration,
  matching,
  oneOf,
  optional,
  secretText,
  text,
  value,
  where,
} from '../../core/options/values.ts';
import { isLoopback } from '../loopback.ts';
import { type Rights, rightsTable } from './rights.ts';

/** Which people may do what. */
export interface SignInRoles {
  /** Claim of the ID token, such as `groups`: a text or a list of texts. `email` counts only if `email_verified` is true. */
  readonly claim: string;
  /**
   * The rights of its values, which are compared exactly. Of several that a person has, the first one here counts alone; whole
   * numbers come before others. Who has none cannot sign in. Changes hold for those who have signed in, too, once the API has been started with them.
   */
  readonly values: Readonly<Record<string, Rights>>;
}

/** How long people stay signed in. */
export interface SignInSession {
  /** At least 32 random characters, the same for all processes of the API: seals what a browser keeps while it is signing in. */
  readonly secret: Lazy<string>;
  /** After the last request, 1 minute to 1 hour; counted in thirtieths. @defaultValue 15 minutes */
  readonly idle?: Duration;
  /** After the sign-in, 1 minute to 8 hours. @defaultValue 8 hours */
  readonly longest?: Duration;
}

/** Options of `openIdConnect`. */
export interface OpenIdConnectOptions {
  /** Address of the provider, as in its ID tokens: `https:`, or `http:` on a loopback address. */
  readonly issuer: Lazy<string>;
  /** Names the outbox at the provider. */
  readonly clientId: Lazy<string>;
  /** Proves the outbox to the provider. @defaultValue none: a public client, protected by PKCE alone */
  readonly clientSecret?: Lazy<string>;
  /**
   * The address that people are led back to, exactly as it is registered at the provider; its path ends with `/callback`. Beside it
   * are `/sign-in` and `/sign-out`. `https:`, or `http:` on a loopback address.
   */
  readonly redirectUrl: Lazy<string>;
  /**
   * Where the provider leads people back once they have signed out there, exactly as it is registered at the provider. `https:`, or
   * `http:` on a loopback address. @defaultValue they stay at the provider
   */
  readonly signedOutUrl?: Lazy<string>;
  /** Which people may do what, by a claim, see SignInRoles. */
  readonly roles: SignInRoles;
  /** How long people stay signed in, and the secret of the processes, see SignInSession. */
  readonly session: SignInSession;
  /** The outbox database, which keeps the sessions. */
  readonly database: DatabaseConfig;
  /** Algorithm by which the provider signs ID tokens; no other is accepted. @defaultValue 'RS256' */
  readonly algorithm?: 'RS256' | 'PS256' | 'ES256' | 'EdDSA' | 'Ed25519';
  /** Scopes to ask for beside `openid`. @defaultValue ['profile', 'email'] */
  readonly scopes?: readonly string[];
  /** Claim that names people in the audit; take one that they cannot choose. Without it, `sub`. @defaultValue 'email' */
  readonly nameClaim?: string;
  /** Path to show after a sign-in. @defaultValue that of `redirectUrl` without `callback` */
  readonly home?: string;
}

const inTheClear = 'http:';

/** Over such a connection, anybody on the way would be signed in. */
const address = (wanted: string, fits: (url: URL) => boolean) =>
  value(wanted, (given) => {
    if (typeof given !== 'string' || !URL.canParse(given)) return undefined;
    const url = new URL(given);
    const protectedOne = url.protocol === 'https:' || (url.protocol === inTheClear && isLoopback(bare(url)));
    const plain = url.search === '' && url.hash === '' && url.username === '' && url.password === '';
    return protectedOne && plain && fits(url) ? given : undefined;
  });

/** `::1` of `[::1]`. */
const bare = ({ hostname }: URL): string => hostname.replaceAll(/^\[|\]$/g, '');

const secured = 'an https: address, or an http: address of this machine, without parameters';
const word = matching(/^[\x21-\x7E]{1,200}$/, 'a text without spaces');

/** Readers of {@link OpenIdConnectOptions}. */
export const openIdConnectOptions = optionTable('openIdConnect()', {
  issuer: lazy(address(secured, () => true)),
  clientId: lazy(text()),
  clientSecret: optional(lazy(secretText())),
  redirectUrl: lazy(
    address(`${secured}, that ends with /callback`, ({ pathname }) => pathname.endsWith('/callback')),
  ),
  signedOutUrl: optional(lazy(address(secured, () => true))),
  roles: object({
    claim: word,
    values: where(
      recordOf(object(rightsTable), 'the rights of each value'),
      'must not be empty',
      (given) => Object.keys(given).length > 0,
    ),
  } satisfies Table<SignInRoles>),
  session: object({
    secret: lazy(where(text(), 'must have at least 32 characters', (given) => given.length >= 32)),
    idle: duration('1 minute', '1 hour', '15 minutes'),
    longest: duration('1 minute', '8 hours', '8 hours'),
  } satisfies Table<SignInSession>),
  database: asGiven<DatabaseConfig>(databaseOptions),
  algorithm: oneOf(['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519'], 'RS256'),
  scopes: optional(listOf(word, 'a list of scopes')),
  nameClaim: matching(/^[\x21-\x7E]{1,200}$/, 'the name of a claim', 'email'),
  home: optional(matching(/^(?:\/[\w.~-]+)*\/?$/, 'a path such as "/console"')),
} satisfies Table<OpenIdConnectOptions>);
