import { OutboxError } from '../../../core/errors.ts';
import { reasonOf } from '../../../core/reason.ts';
import type { TemporalAddress } from './temporal-address.ts';
import { temporalFailure } from './temporal-failure.ts';
import { tlsReason } from './tls-reason.ts';

/** Temporal's core reports failures only as text, with the names of its TLS library's errors. */
const tlsWords: readonly (readonly [words: RegExp, said: string])[] = [
  [/UnknownIssuer/, 'its certificate was signed by an unknown CA'],
  [/InvalidCertificate\(Expired/, 'its certificate has expired'],
  [/InvalidCertificate\(NotValidYet/, 'its certificate is not valid yet'],
  [/CertificateParseError|PrivateKeyParseError/, 'a given certificate or key is not PEM'],
  [/InvalidMessage\(|InvalidContentType/, 'it does not speak TLS'],
  [/AlertReceived\((\w+)\)/, 'it ended the handshake'],
  [/InvalidCertificate\(|General\(|PeerIncompatible|PeerMisbehaved/, 'its certificate cannot be used'],
];
/** Status 7 and 16 of gRPC, in words. */
const refusals = /does not have permission to execute|does not have valid authentication credentials/;

/** The error of a connection that could not be made, with the server and the reason. */
export async function connectFailure(target: TemporalAddress, error: unknown): Promise<OutboxError> {
  if (error instanceof OutboxError) return error;
  const known = temporalFailure(target, error);
  if (known !== undefined) return known;
  const { address, namespace } = target;
  const details = { server: 'Temporal', address };
  const text = reasonOf(error);
  const tls = tlsFailure(text) ?? (isCut(error, text) ? await tlsReason(target) : undefined);
  if (tls !== undefined) {
    return new OutboxError('OUTBOX_TLS_FAILED', `TLS with Temporal at ${address} failed: ${tls}.`, {
      details,
      cause: error,
    });
  }
  const said = inWords(text);
  if (refusals.test(text)) {
    return new OutboxError(
      'OUTBOX_SERVER_REFUSED',
      `Temporal at ${address} (namespace "${namespace}") refuses the connection: ${said}.`,
      { details: { ...details, namespace }, cause: error },
    );
  }
  return new OutboxError('OUTBOX_SERVER_UNAVAILABLE', `Temporal does not answer at ${address}: ${said}.`, {
    details,
    cause: error,
  });
}

/** The connection was established, then ended without an error: the server may have sent a TLS alert that was lost. */
function isCut(error: unknown, text: string): boolean {
  return (
    error instanceof Error &&
    error.name === 'TransportError' &&
    /Failed to call|BrokenPipe|UnexpectedEof|ConnectionReset/.test(text)
  );
}

function tlsFailure(text: string): string | undefined {
  const [, wanted, presented] =
    /NotValidForNameContext \{ expected: (\w+\(.*?\)), presented: \[(.*?)\] \}/.exec(text) ?? [];
  if (wanted !== undefined) {
    const names = [...(presented ?? '').matchAll(/\w+\(\\?"?([^"\\)]*)/g)].map(([, name]) => name);
    return `its certificate is for ${names.join(', ') || 'no name'}, not for ${nameIn(wanted)}`;
  }
  const found = tlsWords.find(([words]) => words.test(text));
  return found && `${found[1]} (${found[0].exec(text)?.[0]?.replace(/\($/, '')})`;
}

/** The name in `DnsName("a.test")`, or the address in `IpAddress(V4(Ipv4Addr([127, 0, 0, 1])))`. */
function nameIn(wanted: string): string {
  const [, ipv4] = /Ipv4Addr\(\[([\d, ]+)\]/.exec(wanted) ?? [];
  return ipv4?.replaceAll(', ', '.') ?? wanted.replaceAll(/^\w+\("?|"?\)$/g, '');
}

/** The part that is useful to a person; the rest stays in the cause. */
function inWords(text: string): string {
  const [, message] = /message: "([^"]+)"/.exec(text) ?? [];
  return (message ?? text).replace(/\.$/, '');
}
