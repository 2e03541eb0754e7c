import type * as OpenIdClient from 'openid-client';
import { OutboxError } from '../../core/errors.ts';
import { requirePackages } from '../../core/packages.ts';
import type { Beginning } from './beginning.ts';
import type { Claims } from './granted.ts';
import { providerAway, signInFailure } from './sign-in-failure.ts';

/** How a provider of OpenID Connect is asked. */
export interface ProviderSettings {
  readonly issuer: () => string;
  readonly clientId: () => string;
  readonly clientSecret: (() => string) | undefined;
  readonly redirectUrl: () => string;
  readonly signedOutUrl: (() => string) | undefined;
  readonly algorithm: string;
  readonly scopes: readonly string[];
}

/** Seconds for each request to the provider. */
const timeout = 5;
/** What the provider publishes is forgotten at most this often, because anybody can make a sign-in fail. */
const forgottenEveryMs = 60_000;
/** Seconds by which its clock may differ. */
const clockDifference = 30;

/** A provider of OpenID Connect. It is asked when it is needed; what it publishes is asked again until it has answered. */
export class Provider {
  readonly #settings: ProviderSettings;
  #asked: Promise<OpenIdClient.Configuration> | undefined;
  #forgottenAt = Number.NEGATIVE_INFINITY;

  constructor(settings: ProviderSettings) {
    this.#settings = settings;
  }

  /** Where to send the browser, and what to remember until it comes back. @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE` */
  async begin(): Promise<{ readonly url: string; readonly beginning: Beginning }> {
    const client = await load();
    const configuration = await this.#configuration();
    const beginning = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier: client.randomPKCECodeVerifier(),
    };
    const { href } = client.buildAuthorizationUrl(configuration, {
      redirect_uri: this.#settings.redirectUrl(),
      scope: ['openid', ...this.#settings.scopes].join(' '),
      state: beginning.state,
      nonce: beginning.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(beginning.verifier),
      code_challenge_method: 'S256',
    });
    return { url: href, beginning };
  }

  /**
   * What the provider says about the person who comes back with this code, once everything about it has been checked.
   *
   * @param search of the address that the browser was led to
   * @param enough whether the claims of the ID token are; the others are asked for by another request
   * @throws OutboxError `OUTBOX_REQUEST_UNPROVED`, `OUTBOX_SERVER_UNAVAILABLE`, `OUTBOX_SERVER_REFUSED`
   */
  async finish(
    search: string,
    { nonce, state, verifier }: Beginning,
    enough: (claims: Claims) => boolean,
  ): Promise<Claims> {
    const client = await load();
    const configuration = await this.#configuration();
    const url = new URL(this.#settings.redirectUrl());
    url.search = search;
    try {
      const tokens = await client.authorizationCodeGrant(configuration, url, {
        expectedNonce: nonce,
        expectedState: state,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (claims === undefined)
        throw new OutboxError('OUTBOX_REQUEST_UNPROVED', 'The provider proves nobody.');
      const told = configuration.serverMetadata().userinfo_endpoint;
      if (enough(claims) || told === undefined) return claims;
      return { ...(await client.fetchUserInfo(configuration, tokens.access_token, claims.sub)), ...claims };
    } catch (error) {
      this.#forget();
      throw signInFailure(error);
    }
  }

  /** Where to send the browser to end its session at the provider; nothing if that does not say that it can be ended. */
  async signOutUrl(): Promise<string | undefined> {
    const client = await load();
    const configuration = await this.#configuration();
    if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined;
    const back = this.#settings.signedOutUrl?.();
    return client.buildEndSessionUrl(configuration, {
      ...(back !== undefined && { post_logout_redirect_uri: back }),
    }).href;
  }

  /** The secret may have been renewed meanwhile. */
  #forget(): void {
    const now = performance.now();
    if (now - this.#forgottenAt < forgottenEveryMs) return;
    this.#forgottenAt = now;
    this.#asked = undefined;
  }

  #configuration(): Promise<OpenIdClient.Configuration> {
    this.#asked ??= this.#discover().catch((error: unknown) => {
      this.#asked = undefined;
      throw error;
    });
    return this.#asked;
  }

  async #discover(): Promise<OpenIdClient.Configuration> {
    const client = await load();
    const { algorithm, clientId, clientSecret, issuer } = this.#settings;
    const server = new URL(issuer());
    const inTheClear = server.protocol !== 'https:';
    // oxlint-disable-next-line typescript/no-deprecated -- the options allow that for a loopback address only
    const execute = inTheClear ? [client.allowInsecureRequests] : [];
    // What it says about itself decides how the secret is sent.
    const found = await client
      .discovery(server, clientId(), undefined, client.None(), { execute, timeout })
      .catch((error: unknown) => {
        throw providerAway(error);
      });
    const made = new client.Configuration(
      found.serverMetadata(),
      clientId(),
      { id_token_signed_response_alg: algorithm, [client.clockTolerance]: clockDifference },
      proofOf(client, clientSecret?.(), found.serverMetadata().token_endpoint_auth_methods_supported),
    );
    made.timeout = timeout;
    // oxlint-disable-next-line typescript/no-deprecated -- as above
    if (inTheClear) client.allowInsecureRequests(made);
    // Without it the signature would not be looked at, because the token comes from the provider itself.
    client.enableNonRepudiationChecks(made);
    return made;
  }
}

async function load(): Promise<typeof OpenIdClient> {
  requirePackages('signIn');
  return import('openid-client');
}

/** How this client proves itself. Basic is what a provider accepts that does not say what it accepts. */
function proofOf(
  client: typeof OpenIdClient,
  secret: string | undefined,
  methods: readonly string[] = ['client_secret_basic'],
): OpenIdClient.ClientAuth {
  if (secret === undefined) return client.None();
  return methods.includes('client_secret_basic')
    ? client.ClientSecretBasic(secret)
    : client.ClientSecretPost(secret);
}
