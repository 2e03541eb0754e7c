import type { OutgoingMessage } from '../../transport.ts';
import { entryFields, headerField } from '../client/message-format.ts';

/** The stream entry of a message: field names and values, alternating. */
export function fieldsOf({ headers, id, key, payload }: OutgoingMessage): string[] {
  const fields = [entryFields.id, id];
  if (key !== null) fields.push(entryFields.key, key);
  for (const name in headers) fields.push(headerField + name, headers[name] ?? '');
  fields.push(entryFields.payload, payload);
  return fields;
}
