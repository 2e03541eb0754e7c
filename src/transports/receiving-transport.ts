import type { Source } from '../sources/source.ts';
import type { Transport } from './transport.ts';

/** A transport whose messages consumers can receive from the same servers. */
export interface ReceivingTransport extends Transport {
  /** Makes a source of the same servers; it shares the options, not the connections. */
  source(): Source;
}

/** Whether consumers can receive what this transport delivers. */
export function isReceiving(transport: Transport): transport is ReceivingTransport {
  return 'source' in transport && typeof transport.source === 'function';
}
