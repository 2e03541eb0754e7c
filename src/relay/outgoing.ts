import type { ClaimedMessage } from '../store/lane/claim.ts';
import type { OutgoingMessage } from '../transports/transport.ts';

/**
 * A claimed row as it goes on the wire: the body as stored, its own headers, and CloudEvents 1.0 in binary mode.
 *
 * Headers are what a record costs most (a third of a relay's processor time at full speed), so none says what follows
 * from another: `outbox-attempt` is absent at the first attempt, `outbox-workflow-id` where the lane delivers (its id is
 * made of `ce_source` and `ce_type`), and there is no `ce_subject`, because the key goes beside the headers.
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
