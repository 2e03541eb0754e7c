import type { OutgoingMessage } from '../brokers/transport.ts';
import type { ClaimedMessage } from '../store/lane/claimed-messages.ts';

/**
 * A claimed row as it is sent: the body as stored, its own headers, and CloudEvents 1.0 in binary mode.
 *
 * Headers are the most expensive part of a record (a third of a relay's processor time at full speed), so redundant ones
 * are left out: `outbox-attempt` on the first attempt, `outbox-workflow-id` if the lane delivers (its id follows from
 * `ce_source` and `ce_type`), and `ce_subject`, because the record has the key.
 */
export function outgoing(topic: string, source: string, message: ClaimedMessage): OutgoingMessage {
  const {
    id,
    key,
    payload,
    contentType,
    headers: own,
    ownWorkflow,
    attempts,
    createdAt,
    expiresAt,
  } = message;
  // The same names in the same order, and the same strings, in every message: they are encoded once for a batch.
  const headers: Record<string, string> = {
    ce_specversion: '1.0',
    ce_id: id,
    ce_source: source,
    ce_type: topic,
    ce_time: createdAt,
    'content-type': contentType,
  };
  if (expiresAt !== null) headers['ce_expirytime'] = expiresAt;
  if (ownWorkflow !== null) headers['outbox-workflow-id'] = ownWorkflow;
  if (attempts > 0) headers['outbox-attempt'] = String(attempts + 1);
  return { id, key, payload, headers: own === null ? headers : { ...permitted(own), ...headers } };
}

/** Without those that only the outbox sets. */
function permitted(own: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  if (!('outbox-workflow-id' in own || 'outbox-attempt' in own)) return own;
  const { 'outbox-workflow-id': _workflow, 'outbox-attempt': _attempt, ...rest } = own;
  return rest;
}
