import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/** A sign-in from its begin until the provider leads the browser back. It is kept by the browser, sealed. */
export interface Beginning {
  readonly state: string;
  readonly nonce: string;
  /** Of PKCE: only who has it can use the code. */
  readonly verifier: string;
}

/** How long a person may take at the provider. */
export const beginningSeconds = 600;

const cipher = 'aes-256-gcm';
const [nonceBytes, tagBytes] = [12, 16];

/** Seals a beginning. @param provider it can be opened for this one only */
export function sealBeginning(beginning: Beginning, secret: string, provider: string): string {
  const nonce = randomBytes(nonceBytes);
  const sealing = createCipheriv(cipher, keyOf(secret), nonce).setAAD(Buffer.from(provider));
  const until = Date.now() + beginningSeconds * 1_000;
  const text = Buffer.concat([sealing.update(JSON.stringify({ ...beginning, until })), sealing.final()]);
  return Buffer.concat([nonce, sealing.getAuthTag(), text]).toString('base64url');
}

/** @returns nothing if it was not sealed so, or is too old */
export function openBeginning(sealed: string, secret: string, provider: string): Beginning | undefined {
  const bytes = Buffer.from(sealed, 'base64url');
  if (bytes.length < nonceBytes + tagBytes) return undefined;
  try {
    const opening = createDecipheriv(cipher, keyOf(secret), bytes.subarray(0, nonceBytes), {
      authTagLength: tagBytes,
    })
      .setAAD(Buffer.from(provider))
      .setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
    const text = Buffer.concat([opening.update(bytes.subarray(nonceBytes + tagBytes)), opening.final()]);
    // oxlint-disable-next-line eslint/no-restricted-properties, typescript/no-unsafe-type-assertion -- what is authentic was sealed above
    const { until, ...beginning } = JSON.parse(text.toString()) as Beginning & { readonly until: number };
    return until > Date.now() ? beginning : undefined;
  } catch {
    return undefined;
  }
}

function keyOf(secret: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', 'temporal-outbox sign-in', 32));
}
