import type { Topic } from '../core/topic.ts';
import type { IncomingMessage } from '../sources/source.ts';
import type { InboxMessage } from './inbox-message.ts';
import { isName } from './once.ts';
import { unreadable } from './unreadable.ts';

/** @throws OutboxError `OUTBOX_MESSAGE_UNREADABLE` when there is none that could be kept */
function idOf(message: IncomingMessage): string {
  const id = message.headers['ce_id'];
  if (id === undefined) throw unreadable(message, 'it has no header ce_id');
  if (!isName(id)) throw unreadable(message, 'its header ce_id is not an id of 1 to 512 bytes');
  return id;
}

/**
 * A message as its handler receives it, its payload being what the schema of the topic makes of the body.
 *
 * @throws OutboxError `OUTBOX_MESSAGE_UNREADABLE`; and whatever the schema itself throws
 */
export async function readMessage<Input, Output>(
  topic: Topic<Input, Output>,
  message: IncomingMessage,
  attempt: number,
): Promise<InboxMessage<Output>> {
  const { address, headers, key, offset, partition } = message;
  const id = idOf(message);
  const payload = await payloadOf(topic, message);
  return {
    id,
    topic: topic.name,
    key,
    payload,
    headers,
    attempt,
    sentAt: sentAt(message),
    address,
    partition,
    offset,
  };
}

async function payloadOf<Input, Output>(
  topic: Topic<Input, Output>,
  message: IncomingMessage,
): Promise<Output> {
  const result = await topic.schema['~standard'].validate(jsonOf(message));
  if (result.issues === undefined) return result.value;
  const issues = result.issues.map(({ message: problem, path }) => ({
    path: (path ?? []).map((step) => String(typeof step === 'object' ? step.key : step)).join('.'),
    problem,
  }));
  const listed = issues
    .map(({ path, problem }) => `${path === '' ? '(whole)' : path}: ${problem}`)
    .join('; ');
  throw unreadable(message, `its payload does not fit the topic "${topic.name}" (${listed})`);
}

function jsonOf(message: IncomingMessage): unknown {
  if (message.body === null) throw unreadable(message, 'it has no body');
  try {
    // A decoder that replaces what it cannot read would let a broken text through.
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(message.body));
  } catch (error) {
    throw unreadable(message, 'its body is not JSON in UTF-8', error);
  }
}

function sentAt({ headers, timestamp }: IncomingMessage): Date {
  const time = new Date(headers['ce_time'] ?? Number.NaN);
  return Number.isNaN(time.getTime()) ? timestamp : time;
}
