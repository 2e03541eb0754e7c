import type { IncomingMessage } from './source.ts';

/** A message whose fields are all decoded. */
export function incomingMessage(fields: Omit<IncomingMessage, 'header'>): IncomingMessage {
  const { headers } = fields;
  return { ...fields, header: (name) => (Object.hasOwn(headers, name) ? headers[name] : undefined) };
}
