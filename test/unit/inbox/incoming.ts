import { incomingMessage } from '../../../src/brokers/incoming-message.ts';
import type { IncomingMessage } from '../../../src/brokers/source.ts';

/** A message as a source hands it over; tests state only what matters to them. */
export function incoming(
  differs: Partial<Omit<IncomingMessage, 'header'>> & { readonly json?: unknown } = {},
): IncomingMessage {
  const { json = { n: 1 }, ...rest } = differs;
  return incomingMessage({
    address: 'orders',
    partition: 0,
    offset: '10',
    key: null,
    body: new TextEncoder().encode(JSON.stringify(json)),
    headers: { ce_id: 'id-1', ce_type: 'orders' },
    timestamp: new Date(0),
    ...rest,
  });
}
