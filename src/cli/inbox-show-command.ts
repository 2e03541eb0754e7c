import { causeIn } from '../core/cause.ts';
import type { KeptDetails } from '../operations/inbox/show.ts';
import { usageError, withOperations } from './operator-flags.ts';
import { exitCodes, type Output } from './output.ts';
import { printable } from './printable.ts';
import type { CommonFlags } from './register.ts';
import { auditLines, type Field, fieldLines } from './show-command.ts';

export interface InboxShowFlags extends CommonFlags {
  readonly group?: string;
  /** Show the body. */
  readonly payload?: boolean;
}

/** Shows one message that a consumer keeps, what was done to it, and why it is kept. */
export async function inboxShowCommand(
  id: string | undefined,
  flags: InboxShowFlags,
  output: Output,
): Promise<number> {
  const { group, payload = false } = flags;
  if (id === undefined || group === undefined)
    return usageError('Name the message by its id, and its consumer group with --group.', output);
  const details = await withOperations(flags, (at) => at.inbox.show({ group, id }));
  if (details.message === null) {
    const message = details.handled
      ? `The group has handled ${id}; its effects are committed.`
      : `The group does not keep a message ${id}.`;
    output.trouble(printable(message));
    output.value({ ok: false, message, handled: details.handled, audit: details.audit });
    return exitCodes.failed;
  }
  for (const line of lines(details, payload)) output.line(line);
  const { body, ...message } = details.message;
  output.value({
    ok: true,
    ...details,
    message: payload ? details.message : { ...message, bodyBytes: bytesOf(body) },
  });
  return exitCodes.ok;
}

type Body = KeptDetails['message']['body'];

function lines({ message, why, audit }: KeptDetails, withBody: boolean): readonly string[] {
  const { parkedKey } = message;
  const fields: readonly Field[] = [
    ['message', message.id],
    ['group', message.group],
    ['topic', message.topic],
    ['state', `${message.state}: ${why.text}`],
    ['key', message.key],
    ['reason', message.reason],
    ['error', message.lastError === null ? null : causeIn(message.lastError)],
    ['tries', String(message.attempts)],
    ['next try', parkedKey?.nextAt?.toISOString()],
    ['workflow', parkedKey?.workflowId],
    [
      'arrived',
      `${message.arrivedAt.toISOString()} at ${message.address}/${message.partition}/${message.offset}`,
    ],
    ['sent', message.sentAt.toISOString()],
    ['copied', message.copiedAt?.toISOString()],
    ['copy of', message.supersedes],
    ['its copy', message.supersededBy],
    ['version', message.version],
    ['headers', JSON.stringify(message.headers)],
    ['body', bodyLine(message, withBody)],
  ];
  return [...fieldLines(fields), ...auditLines(audit)];
}

function bodyLine({ body, expungedAt }: KeptDetails['message'], withBody: boolean): string {
  if (expungedAt !== null) return `expunged ${expungedAt.toISOString()}, with headers and error`;
  return withBody ? shown(body) : `${bytesOf(body)} bytes (--payload shows them)`;
}

function shown(body: Body): string {
  if (body === null) return 'none';
  return 'text' in body ? body.text : `base64: ${body.base64}`;
}

function bytesOf(body: Body): number {
  if (body === null) return 0;
  return 'text' in body ? Buffer.byteLength(body.text) : Buffer.from(body.base64, 'base64').length;
}
