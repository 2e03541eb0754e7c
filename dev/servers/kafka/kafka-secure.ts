import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A second listener of a local broker, with TLS, passwords and ACLs, to try out client settings. */
export interface SecureListener {
  /** PEM text: the certificate of the broker, for 127.0.0.1. */
  readonly cert: string;
  /** PEM text: its key, PKCS #8 and not encrypted. */
  readonly key: string;
  /** Passwords by user, for PLAIN and SCRAM (OAUTHBEARER takes unsigned tokens); both of letters and digits only. */
  readonly users: Readonly<Record<string, string>>;
}

/** A secure listener with its port and key file. */
export interface SecurePlan extends SecureListener {
  readonly port: number;
  /** The file that {@link writeSecureFile} makes. */
  readonly file: string;
}

const listener = 'SECURE';
const scrams = ['SCRAM-SHA-256', 'SCRAM-SHA-512'];

/** Writes key and certificate to one PEM file that only its owner can read. @returns the file */
export async function writeSecureFile(folder: string, { cert, key }: SecureListener): Promise<string> {
  const file = join(folder, 'secure.pem');
  await writeFile(file, key + cert);
  await chmod(file, 0o600);
  return file;
}

/** The settings of a broker, with the listener added. */
export function withSecureListener(
  settings: Readonly<Record<string, string>>,
  { port, file, users }: SecurePlan,
): Readonly<Record<string, string>> {
  const own = `listener.name.${listener.toLowerCase()}`;
  const add = (name: string, value: string): Record<string, string> => ({
    [name]: `${settings[name]},${value}`,
  });
  const passwords = Object.entries(users).map(([user, password]) => `user_${user}="${password}"`);
  const login = 'org.apache.kafka.common.security';
  return {
    ...settings,
    // The broker itself and clients of the plain listener are superusers. A resource without ACLs is open to all.
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    'super.users': 'User:ANONYMOUS',
    'allow.everyone.if.no.acl.found': 'true',
    ...add('listeners', `${listener}://127.0.0.1:${port}`),
    ...add('advertised.listeners', `${listener}://127.0.0.1:${port}`),
    ...add('listener.security.protocol.map', `${listener}:SASL_SSL`),
    [`${own}.ssl.keystore.type`]: 'PEM',
    [`${own}.ssl.keystore.location`]: file,
    [`${own}.sasl.enabled.mechanisms`]: ['PLAIN', 'OAUTHBEARER', ...scrams].join(','),
    [`${own}.plain.sasl.jaas.config`]: `${login}.plain.PlainLoginModule required ${passwords.join(' ')};`,
    // Takes any token that names a user and is not too old, signed by nobody.
    [`${own}.oauthbearer.sasl.jaas.config`]: `${login}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="nobody";`,
    ...Object.fromEntries(
      scrams.map((mechanism) => [
        `${own}.${mechanism.toLowerCase()}.sasl.jaas.config`,
        `${login}.scram.ScramLoginModule required;`,
      ]),
    ),
  };
}

/** The arguments of `kafka-storage format` that create the SCRAM users. */
export function scramArguments({ users }: SecureListener): readonly string[] {
  return Object.entries(users).flatMap(([name, password]) =>
    scrams.flatMap((mechanism) => ['--add-scram', `${mechanism}=[name=${name},password=${password}]`]),
  );
}
