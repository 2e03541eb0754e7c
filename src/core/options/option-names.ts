import { OutboxError } from '../errors.ts';

/** The first key of `given` that is not an option; a misspelt one would have no effect. */
export function unknownOption(given: object, known: readonly string[]): string | undefined {
  return Object.keys(given).find((option) => !known.includes(option));
}

/** @throws OutboxError `OUTBOX_OPTION_INVALID` naming the first key of `given` that is not an option of `what` */
export function assertOptions(what: string, given: object, known: readonly string[]): void {
  if (!isObject(given))
    throw new OutboxError('OUTBOX_OPTION_INVALID', `The options of ${what} are not an object.`, {
      details: { option: 'options' },
    });
  const option = unknownOption(given, known);
  if (option === undefined) return;
  throw new OutboxError('OUTBOX_OPTION_INVALID', `Unknown option "${option}" of ${what}.`, {
    details: { option },
  });
}

/** True for anything that has keys. */
export const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** Makes the error for an option that is not what is wanted. */
export type RefuseOne = (option: string, what: string) => Error;

/** Checks options of `tls.connect`; what `refuse` makes of a bad one is thrown. @param booleans `true` and `false` will do */
export function assertTlsOptions(option: string, tls: unknown, refuse: RefuseOne, booleans = true): void {
  if (booleans && typeof tls === 'boolean') return;
  if (!isObject(tls))
    throw refuse(option, `must be ${booleans ? 'true, false or ' : ''}options of tls.connect`);
  const unknown = unknownOption(tls, tlsOptionNames);
  if (unknown !== undefined) throw refuse(`${option}.${unknown}`, 'is not an option of tls.connect');
}

/** Options of `tls.connect` that make sense, given that the library sets the address and the socket. */
export const tlsOptionNames: readonly string[] = [
  'ALPNProtocols',
  'allowPartialTrustChain',
  'ca',
  'cert',
  'checkServerIdentity',
  'ciphers',
  'clientCertEngine',
  'crl',
  'dhparam',
  'ecdhCurve',
  'enableTrace',
  'honorCipherOrder',
  'key',
  'maxVersion',
  'minDHSize',
  'minVersion',
  'passphrase',
  'pfx',
  'privateKeyEngine',
  'privateKeyIdentifier',
  'pskCallback',
  'rejectUnauthorized',
  'requestOCSP',
  'secureContext',
  'secureOptions',
  'secureProtocol',
  'servername',
  'session',
  'sessionIdContext',
  'sessionTimeout',
  'sigalgs',
  'ticketKeys',
  'timeout',
];
