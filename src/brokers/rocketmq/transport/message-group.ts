import { createHash } from 'node:crypto';

/** Proxies refuse groups of 64 bytes and more. */
const largestGroupBytes = 63;
// oxlint-disable-next-line no-control-regex -- that is what proxies refuse
const refused = /[\u0000-\u001F\u007F-\u009F]|^\s*$/;

/** The message group of a key: the key itself, or its hash if RocketMQ would refuse the key. */
export function messageGroupOf(key: string): string {
  if (Buffer.byteLength(key) <= largestGroupBytes && !refused.test(key)) return key;
  return createHash('sha256').update(key).digest('base64url');
}
