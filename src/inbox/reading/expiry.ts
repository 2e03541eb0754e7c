import type { IncomingMessage } from '../../brokers/source.ts';
import { hasPassed } from '../../core/expiry-time.ts';

/**
 * Whether a message has expired: its effects are of no use any more, as its sender has said. One without the extension of CloudEvents, or
 * with a text there that is no time, does not expire.
 */
export function isExpired(message: IncomingMessage): boolean {
  return hasPassed(message.header('ce_expirytime'));
}
