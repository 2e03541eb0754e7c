import type { ClaimedMessage } from '../store/claim.ts';
import type { OutgoingMessage } from '../transports/transport.ts';

/**
 * A claimed row as it goes on the wire: the body as stored, its own headers, CloudEvents 1.0 in binary mode, and two
 * headers that lead an operator from a record back to its workflow.
 */
export function outgoing(topic: string, source: string, message: ClaimedMessage): OutgoingMessage {
  const headers: Record<string, string> = {
    ...message.headers,
    ce_specversion: '1.0',
    ce_id: message.id,
    ce_source: source,
    ce_type: topic,
    ce_time: message.createdAt.toISOString(),
    'content-type': message.contentType,
    'outbox-workflow-id': message.workflowId,
    'outbox-attempt': String(message.attempts + 1),
  };
  if (message.key !== null) headers['ce_subject'] = message.key;
  return { id: message.id, key: message.key, payload: message.payload, headers };
}
