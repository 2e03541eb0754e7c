import { OutboxError } from '../core/errors.ts';
import type { Topic } from '../core/topic.ts';
import {
  oldestVersion,
  UpcastFailure,
  upcastPayload,
  versionHeader,
  versionOf,
} from '../core/topic-version.ts';

/**
 * The payload of a stored message as consumers with this topic will validate it: converted to the current version by its
 * upcasters.
 *
 * @param headers the message's, which contain its version
 * @throws OutboxError `OUTBOX_PAYLOAD_INVALID` if it cannot be converted
 */
export function currentForm(
  { name, rules }: Topic,
  payload: unknown,
  headers: Readonly<Record<string, string>> | null,
): unknown {
  const version = versionOf(headers?.[versionHeader]);
  if (version === undefined || version < oldestVersion(rules) || version > rules.version) {
    throw new OutboxError(
      'OUTBOX_PAYLOAD_INVALID',
      `The payload cannot be validated: the message is of version ${version ?? 'unknown'}, and the topic "${name}" of version ${rules.version} has no upcaster for it.`,
      { details: { topic: name, version } },
    );
  }
  try {
    return upcastPayload(rules, version, payload);
  } catch (error) {
    if (!(error instanceof UpcastFailure)) throw error;
    throw new OutboxError(
      'OUTBOX_PAYLOAD_INVALID',
      `The upcaster of version ${error.from} of the topic "${name}" refuses the payload: ${error.message}.`,
      { details: { topic: name, version }, cause: error.cause },
    );
  }
}
