import { join } from 'node:path';

/** TLS and access control of a local RocketMQ, to test such settings. */
export interface SecureProxy {
  /** PEM text: the certificate of the proxy, for 127.0.0.1. */
  readonly cert: string;
  /** PEM text: its key, PKCS #8 and not encrypted. */
  readonly key: string;
  /** The only user. Both keys consist of letters and digits. */
  readonly accessKey: string;
  readonly secretKey: string;
  /**
   * Nothing is answered without TLS, and the broker asks for the user too, as the proxy does: the only user has all privileges, others have
   * those of their ACLs. @defaultValue the proxy alone asks for the user; all answer with and without TLS
   */
  readonly enforced?: boolean;
}

/** Their files, in the folder of the data. */
export const secureFiles = { cert: 'cert.pem', key: 'key.pem' } as const;

/** Name servers and brokers read it from there only; it also has the proxy refuse what comes without TLS. */
export function tlsFlags(folder: string, secure: SecureProxy | undefined): readonly string[] {
  if (secure?.enforced !== true) return [];
  return [
    // What they ask each other.
    '-Dtls.enable=true',
    '-Dtls.server.mode=enforcing',
    '-Dtls.test.mode.enable=false',
    `-Dtls.server.certPath=${join(folder, secureFiles.cert)}`,
    `-Dtls.server.keyPath=${join(folder, secureFiles.key)}`,
  ];
}

const authentication = 'org.apache.rocketmq.auth.authentication.provider';
const authorization = 'org.apache.rocketmq.auth.authorization.provider';

/** The part of `broker.conf` for access control. */
export function brokerUsers(secure: SecureProxy | undefined): Readonly<Record<string, string>> {
  if (secure === undefined) return {};
  return {
    authenticationProvider: `${authentication}.DefaultAuthenticationProvider`,
    authenticationMetadataProvider: `${authentication}.LocalAuthenticationMetadataProvider`,
    initAuthenticationUser: JSON.stringify({ username: secure.accessKey, password: secure.secretKey }),
    ...(secure.enforced === true && {
      authenticationEnabled: 'true',
      authorizationEnabled: 'true',
      authorizationProvider: `${authorization}.DefaultAuthorizationProvider`,
      authorizationMetadataProvider: `${authorization}.LocalAuthorizationMetadataProvider`,
      innerClientAuthenticationCredentials: credentialsOf(secure),
    }),
  };
}

function credentialsOf({ accessKey, secretKey }: SecureProxy): string {
  return JSON.stringify({ accessKey, secretKey });
}

/** The part of `rmq-proxy.json` for TLS and access control. */
export function proxySecurity(
  folder: string,
  secure: SecureProxy | undefined,
): Readonly<Record<string, string | boolean>> {
  if (secure === undefined) return {};
  return {
    tlsTestModeEnable: false,
    tlsCertPath: join(folder, secureFiles.cert),
    tlsKeyPath: join(folder, secureFiles.key),
    authenticationEnabled: true,
    authenticationProvider: `${authentication}.DefaultAuthenticationProvider`,
    authenticationMetadataProvider: 'org.apache.rocketmq.proxy.auth.ProxyAuthenticationMetadataProvider',
    innerClientAuthenticationCredentials: credentialsOf(secure),
    ...(secure.enforced === true && {
      authorizationEnabled: true,
      authorizationProvider: `${authorization}.DefaultAuthorizationProvider`,
      authorizationMetadataProvider: 'org.apache.rocketmq.proxy.auth.ProxyAuthorizationMetadataProvider',
    }),
  };
}
