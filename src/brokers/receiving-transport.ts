import type { Transport } from './transport.ts';

/** A transport with a source: consumers can receive its messages from the same servers. */
export type ReceivingTransport = Transport & Required<Pick<Transport, 'source'>>;

/** Whether consumers can receive what this transport delivers. */
export function isReceiving(transport: Transport): transport is ReceivingTransport {
  return transport.source !== undefined;
}
