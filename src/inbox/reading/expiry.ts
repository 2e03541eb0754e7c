import type { IncomingMessage } from '../../brokers/source.ts';

/**
 * Whether the time of the CloudEvents extension `expirytime` has passed, by the clock of this process. Its effects are of no use any
 * more, as its sender has said. A message without the extension, or with one that is no time, does not expire.
 */
export function isExpired(message: IncomingMessage): boolean {
  const time = message.header('ce_expirytime');
  return time !== undefined && Date.parse(time) <= Date.now();
}
