import { causeIn } from '../core/cause.ts';
import { shellWord } from '../core/shell-word.ts';
import type { MessageDetails } from '../operations/messages/show.ts';
import { configuredElsewhere, usageError, withOperations } from './operator-flags.ts';
import { exitCodes, type Output } from './output.ts';
import { printable } from './printable.ts';
import type { CommonFlags } from './register.ts';
import { table } from './table.ts';

export interface ShowFlags extends CommonFlags {
  /** Show the payload. */
  readonly payload?: boolean;
  /** Look into the log of the broker. */
  readonly log?: boolean;
}

type Shown = NonNullable<MessageDetails['message']>;

/** Shows one message, what happened to it, and why it is not delivered. */
export async function showCommand(id: string | undefined, flags: ShowFlags, output: Output): Promise<number> {
  if (id === undefined) return usageError('Name the message by its id.', output);
  const elsewhere = await configuredElsewhere(flags);
  const details = await withOperations(flags, (at) => at.show(id, { log: flags.log === true }), elsewhere);
  if (details === undefined) {
    output.trouble(`There is no message ${id}.`);
    output.value({ ok: false, message: `There is no message ${id}.` });
    return exitCodes.failed;
  }
  for (const line of lines(details, flags.payload ?? false)) output.line(line);
  output.value({
    ok: true,
    ...details,
    message: flags.payload === true ? details.message : withoutPayload(details.message),
  });
  return exitCodes.ok;
}

function withoutPayload(message: MessageDetails['message']): object | null {
  if (message === null) return null;
  const { payload, ...rest } = message;
  return { ...rest, payloadBytes: Buffer.byteLength(payload) };
}

function lines(details: MessageDetails, withPayload: boolean): readonly string[] {
  const { message, why } = details;
  const fields: readonly Field[] =
    message === null ? [['state', why.text]] : fieldsOf(details, message, withPayload);
  return [...fieldLines([...fields, ['next', why.next]]), ...timelineLines(details.timeline)];
}

function fieldsOf(details: MessageDetails, message: Shown, withPayload: boolean): readonly Field[] {
  const { keptBy, why } = details;
  const fields: readonly Field[] = [
    ['message', message.id],
    ['topic', `${message.topic}, lane ${message.lane}, position ${message.position}`],
    ['state', `${message.state}: ${why.text}`],
    ['key', message.key],
    ['ref', message.ref],
    ['stored', message.createdAt.toISOString()],
    ['due', message.dueAt?.toISOString()],
    ['expires', message.expiresAt?.toISOString()],
    ['tries', message.attempts === 0 ? undefined : String(message.attempts)],
    ['error', message.lastError === null ? null : causeIn(message.lastError)],
    [
      'may be out',
      message.maybePublished ? 'yes: it may be published and can no longer be canceled' : undefined,
    ],
    ['broker', whereabouts(message, details)],
    ...keptBy.map(({ group, id, state }) => ['kept', keptIn(group, state, id)] as const),
    ['workflow', message.workflowId],
    ['in its UI', details.workflowUrl],
    ['copy of', message.supersedes],
    ['its copy', message.supersededBy],
    ['archived', message.archivedAt?.toISOString()],
    ['version', message.version],
    ['headers', message.headers === null ? undefined : JSON.stringify(message.headers)],
    ['payload', payloadLine(message, withPayload)],
  ];
  return fields;
}

function payloadLine({ expungedAt, payload }: Shown, withPayload: boolean): string {
  if (expungedAt !== null) return `expunged ${expungedAt.toISOString()}, with headers and errors`;
  return withPayload ? payload : `${Buffer.byteLength(payload)} bytes (--payload shows them)`;
}

function timelineLines(timeline: MessageDetails['timeline']): readonly string[] {
  return section(
    ['TIME', 'WHAT', 'WHERE', 'DETAIL'],
    timeline.map(({ at, detail, what, where }) => [
      at?.toISOString() ?? '-',
      what === 'gap' ? 'not known' : what,
      where,
      causeIn(detail),
    ]),
  );
}

/** A line of details; one without a value is left out. */
export type Field = readonly [name: string, value: string | null | undefined];

export function fieldLines(fields: readonly Field[]): readonly string[] {
  return fields.flatMap(([name, value]) =>
    value === undefined || value === null ? [] : [`${name.padEnd(10)}  ${printable(value)}`],
  );
}

/** What operators did to a message, below its details. */
export function auditLines(audit: MessageDetails['audit']): readonly string[] {
  return section(
    ['AUDIT', 'WHO', 'ACTION', 'RESULT', 'REASON'],
    audit.map(({ at, actor, action, result, reason }) => [
      at.toISOString(),
      actor,
      action,
      result,
      reason ?? '',
    ]),
  );
}

function section(heading: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  return rows.length === 0 ? [] : ['', table(heading, rows)];
}

function keptIn(group: string, state: string, id: string): string {
  return `by the group ${group}, ${state}: temporal-outbox inbox show ${shellWord(id)} --group ${shellWord(group)}`;
}

function whereabouts(message: Shown, { delivery }: MessageDetails): string | undefined {
  if (message.partition !== null && message.offset !== null)
    return `partition ${message.partition}, offset ${message.offset}`;
  if (delivery === null) return undefined;
  const at = `published ${delivery.publishedAt.toISOString()}`;
  if (delivery.exact !== null)
    return `partition ${delivery.exact.partition}, offset ${delivery.exact.offset}, ${at}`;
  const ranges = Object.entries(delivery.partitions).map(
    ([partition, { first, count }]) => `partition ${partition} from offset ${first} (${count} messages)`,
  );
  return ranges.length === 0 ? at : `with its batch in ${ranges.join(', ')}, ${at}`;
}
