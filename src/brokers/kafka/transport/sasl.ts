import type { Connection } from '@platformatic/kafka';
import type { AuthenticationProviderArgs, Mechanism, SASLOptions } from 'kafkajs';
import { platformaticKafka } from '../client/platformatic.ts';
import type { BrokerAddress } from './broker-address.ts';
import type { Sasl } from './kafka-options.ts';

/** How long these credentials hold, in milliseconds; 0: as long as the connection. */
type SessionMs = number;

const lengthBytes = 4;

/**
 * Authenticates a connection with credentials in the form of kafkajs, by the client's own mechanisms where it has them.
 *
 * Not by the client's option for it, which knows five mechanisms only, and whose second authentication on an open connection
 * collides with requests.
 */
export async function authenticate(
  connection: Connection,
  sasl: Sasl,
  broker: BrokerAddress,
): Promise<SessionMs> {
  const { saslHandshakeV1, saslAuthenticateV2 } = platformaticKafka();
  const mechanism = sasl.mechanism.toUpperCase();
  await saslHandshakeV1.api.async(connection, mechanism);
  const api = saslAuthenticateV2.api;
  if (isMechanism(sasl)) return byProvider(connection, sasl, broker);
  const { sessionLifetimeMs } = await byOptions(connection, sasl, api);
  return Number(sessionLifetimeMs);
}

type AuthenticateApi = ReturnType<typeof platformaticKafka>['saslAuthenticateV2']['api'];
type AuthenticateResponse = Awaited<ReturnType<AuthenticateApi['async']>>;

async function byOptions(
  connection: Connection,
  sasl: SASLOptions,
  api: AuthenticateApi,
): Promise<AuthenticateResponse> {
  const { saslOAuthBearer, saslPlain, saslScramSha } = platformaticKafka();
  switch (sasl.mechanism) {
    case 'plain':
      return saslPlain.authenticate(api, connection, sasl.username, sasl.password);
    case 'scram-sha-256':
      return saslScramSha.authenticate(api, connection, 'SHA-256', sasl.username, sasl.password);
    case 'scram-sha-512':
      return saslScramSha.authenticate(api, connection, 'SHA-512', sasl.username, sasl.password);
    case 'oauthbearer': {
      const token = await sasl.oauthBearerProvider();
      return saslOAuthBearer.authenticate(api, connection, token.value, extensionsOf(token));
    }
    case 'aws': {
      const { authorizationIdentity, accessKeyId, secretAccessKey, sessionToken = '' } = sasl;
      const parts = [authorizationIdentity, accessKeyId, secretAccessKey, sessionToken];
      return api.async(connection, Buffer.from(parts.join('\0')));
    }
  }
}

/** A mechanism of the user's own, written for kafkajs, whose messages begin with their length. */
async function byProvider(
  connection: Connection,
  sasl: Mechanism,
  broker: BrokerAddress,
): Promise<SessionMs> {
  const { saslAuthenticateV2 } = platformaticKafka();
  let sessionMs = 0;
  const saslAuthenticate: AuthenticationProviderArgs['saslAuthenticate'] = async ({ request, response }) => {
    const { authBytes, sessionLifetimeMs } = await saslAuthenticateV2.api.async(
      connection,
      (await request.encode()).subarray(lengthBytes),
    );
    sessionMs = Number(sessionLifetimeMs);
    if (response === undefined) return;
    const length = Buffer.alloc(lengthBytes);
    length.writeInt32BE(authBytes.length);
    return response.parse(await response.decode(Buffer.concat([length, authBytes])));
  };
  await sasl.authenticationProvider({ ...broker, logger: silent, saslAuthenticate }).authenticate();
  return sessionMs;
}

/** Names and values that go with a token; kafkajs takes them, but its types leave them out. */
function extensionsOf(token: object): Record<string, string> {
  const extensions: unknown = Reflect.get(token, 'extensions');
  if (typeof extensions !== 'object' || extensions === null) return {};
  return Object.fromEntries(Object.entries(extensions).map(([name, value]) => [name, String(value)]));
}

function isMechanism(sasl: Sasl): sasl is Mechanism {
  return 'authenticationProvider' in sasl;
}

const silent: AuthenticationProviderArgs['logger'] = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  namespace: () => silent,
  setLogLevel: () => undefined,
};
