import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIPv4 } from 'node:net';

/** A certificate and its key, as PEM texts. */
export interface Credentials {
  readonly cert: string;
  readonly key: string;
}

/** An authority that lives as long as a test. */
export interface TestAuthority {
  /** Its certificate, as PEM text. */
  readonly ca: string;
  /** A certificate for these host names and IPv4 addresses; without any it is one for a client. */
  issue(...names: readonly string[]): Credentials;
}

/** Makes a certificate authority, because Node makes keys and signatures but no certificates. */
export function testAuthority(name: string): TestAuthority {
  const { privateKey, publicKey } = newKey();
  const issuer = commonName(name);
  const ca = certificate({
    subject: issuer,
    issuer,
    publicKey,
    by: privateKey,
    extensions: [basicConstraints],
  });
  return {
    ca,
    issue(...names) {
      const own = newKey();
      const extensions = names.length === 0 ? [] : [subjectAltName(names)];
      const subject = commonName(names[0] ?? 'client');
      return {
        cert: certificate({ subject, issuer, publicKey: own.publicKey, by: privateKey, extensions }),
        key: own.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      };
    },
  };
}

function newKey(): { readonly privateKey: KeyObject; readonly publicKey: KeyObject } {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

interface CertificateParts {
  readonly subject: Buffer;
  readonly issuer: Buffer;
  readonly publicKey: KeyObject;
  /** The issuer's key. */
  readonly by: KeyObject;
  readonly extensions: readonly Buffer[];
}

/** X.509 version 3, valid from yesterday for a week. */
function certificate({ subject, issuer, publicKey, by, extensions }: CertificateParts): string {
  const dayMs = 24 * 60 * 60 * 1_000;
  const algorithm = sequence(objectId('2a8648ce3d040302'));
  const body = sequence(
    der(0xa0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    issuer,
    sequence(time(Date.now() - dayMs), time(Date.now() + 7 * dayMs)),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    ...(extensions.length === 0 ? [] : [der(0xa3, sequence(...extensions))]),
  );
  const signature = sign('sha256', body, createPrivateKey(by.export({ type: 'pkcs8', format: 'pem' })));
  const whole = sequence(body, algorithm, der(0x03, Buffer.concat([Buffer.from([0]), signature])));
  const lines = whole.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

/** CA:TRUE, critical. */
const basicConstraints = sequence(
  objectId('551d13'),
  der(0x01, Buffer.from([0xff])),
  der(0x04, sequence(der(0x01, Buffer.from([0xff])))),
);

function subjectAltName(names: readonly string[]): Buffer {
  const entries = names.map((name) =>
    isIPv4(name)
      ? der(0x87, Buffer.from(name.split('.').map(Number)))
      : der(0x82, Buffer.from(name, 'latin1')),
  );
  return sequence(objectId('551d11'), der(0x04, sequence(...entries)));
}

function commonName(name: string): Buffer {
  return sequence(der(0x31, sequence(objectId('550403'), der(0x0c, Buffer.from(name)))));
}

function time(ms: number): Buffer {
  const text = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  return der(0x17, Buffer.from(text.slice(2), 'latin1'));
}

function objectId(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, 'hex'));
}

function integer(bytes: Buffer): Buffer {
  return der(0x02, bytes);
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

/** One value of the Distinguished Encoding Rules: its tag, its length, itself. */
function der(tag: number, value: Buffer): Buffer {
  const { length } = value;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), value]);
  const size = length < 0x1_00 ? [0x81, length] : [0x82, Math.floor(length / 0x1_00), length % 0x1_00];
  return Buffer.concat([Buffer.from([tag, ...size]), value]);
}
