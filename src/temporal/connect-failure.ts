import { OutboxError } from '../core/errors.ts';
import type { TemporalAddress } from './temporal-address.ts';
import { temporalFailure } from './temporal-failure.ts';
import { tlsReason } from './tls-reason.ts';

/** Temporal's core tells by text alone what failed: the names of its TLS library. */
const tlsWords: readonly (readonly [words: RegExp, said: string])[] = [
  [/UnknownIssuer/, 'its certificate was signed by a CA that is not known here'],
  [/InvalidCertificate\(Expired/, 'its certificate has expired'],
  [/InvalidCertificate\(NotValidYet/, 'its certificate is not valid yet'],
  [/CertificateParseError|PrivateKeyParseError/, 'a given certificate or key is no PEM'],
  [/InvalidMessage\(|InvalidContentType/, 'it does not speak TLS'],
  [/AlertReceived\((\w+)\)/, 'it ended the handshake'],
  [/InvalidCertificate\(|General\(|PeerIncompatible|PeerMisbehaved/, 'its certificate cannot be used'],
];
/** Status 7 and 16 of gRPC, in words. */
const refusals = /does not have permission to execute|does not have valid authentication credentials/;

/** Names the server of a connection that could not be made, and says what is wrong with it. */
export async function connectFailure(target: TemporalAddress, error: unknown): Promise<OutboxError> {
  if (error instanceof OutboxError) return error;
  const known = temporalFailure(target, error);
  if (known !== undefined) return known;
  const { address, namespace } = target;
  const details = { server: 'Temporal', address };
  const text = error instanceof Error ? error.message : String(error);
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
      `Temporal refuses at ${address} (namespace "${namespace}"): ${said}.`,
      { details: { ...details, namespace }, cause: error },
    );
  }
  return new OutboxError('OUTBOX_SERVER_UNAVAILABLE', `Temporal does not answer at ${address}: ${said}.`, {
    details,
    cause: error,
  });
}

/** The connection stood, and ended without a word: the server may have had one that nobody read. */
function isCut(error: unknown, text: string): boolean {
  return (
    error instanceof Error &&
    error.name === 'TransportError' &&
    /Failed to call|BrokenPipe|UnexpectedEof|ConnectionReset/.test(text)
  );
}

function tlsFailure(text: string): string | undefined {
  const [, expected, presented] =
    /NotValidForNameContext \{ expected: \w+\("?([^")]*)"?\), presented: \[(.*?)\] \}/.exec(text) ?? [];
  if (expected !== undefined) {
    const names = [...(presented ?? '').matchAll(/\w+\(\\?"?([^"\\)]*)/g)].map(([, name]) => name);
    return `its certificate is for ${names.join(', ') || 'no name'}, and not for ${expected}`;
  }
  const found = tlsWords.find(([words]) => words.test(text));
  return found && `${found[1]} (${found[0].exec(text)?.[0]?.replace(/\($/, '')})`;
}

/** What a person needs of it; the rest is the cause. */
function inWords(text: string): string {
  const [, message] = /message: "([^"]+)"/.exec(text) ?? [];
  return (message ?? text).replace(/\.$/, '');
}
