import type { Source } from './source.ts';
import type { Transport } from './transport.ts';

/** A transport with a source: consumers can receive its messages from the same servers. */
export interface ReceivingTransport extends Transport {
  /** Makes a source of the same servers; it shares the options, not the connections. */
  source(): Source;
}

/** Whether consumers can receive what this transport delivers. */
export function isReceiving(transport: Transport): transport is ReceivingTransport {
  return 'source' in transport && typeof transport.source === 'function';
}
