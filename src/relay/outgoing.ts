import type { ClaimedMessage } from '../store/lane/claim.ts';
import type { OutgoingMessage } from '../transports/transport.ts';

/**
 * A claimed row as it is sent: the body as stored, its own headers, and CloudEvents 1.0 in binary mode.
 *
 * Headers are the most expensive part of a record (a third of a relay's processor time at full speed), so redundant ones
 * are left out: `outbox-attempt` on the first attempt, `outbox-workflow-id` if the lane delivers (its id follows from
 * `ce_source` and `ce_type`), and `ce_subject`, because the record has the key.
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
  };
  if (message.ownWorkflow) headers['outbox-workflow-id'] = message.workflowId;
  else if (message.headers !== null) delete headers['outbox-workflow-id'];
  if (message.attempts > 0) headers['outbox-attempt'] = String(message.attempts + 1);
  else if (message.headers !== null) delete headers['outbox-attempt'];
  return { id: message.id, key: message.key, payload: message.payload, headers };
}
