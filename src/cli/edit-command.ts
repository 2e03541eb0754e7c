import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Operations } from '../app/operations/operations.ts';
import { OutboxError } from '../core/errors.ts';
import { reasonOf } from '../core/reason.ts';
import type { Topic } from '../core/topic.ts';
import type { Edited } from '../operations/edit.ts';
import type { EditOptions } from '../operations/edit-content.ts';
import { loadConfig } from './load-config.ts';
import {
  configOf,
  type OperatorFlags,
  optionsOf,
  refusedConsent,
  usageError,
  withOperations,
} from './operator-flags.ts';
import { exitCodes, type Output } from './output.ts';
import { printable } from './printable.ts';

export interface EditFlags extends OperatorFlags {
  readonly group?: string;
  readonly payloadFile?: string;
  readonly header?: readonly string[];
  readonly removeHeader?: readonly string[];
  readonly expectedVersion?: string;
}

/** How to edit the messages of one table. */
interface Editing {
  /** Undefined if the flags do not name the message. */
  readonly edit: ((at: Operations, options: EditOptions) => Promise<Edited>) | undefined;
  readonly howToName: string;
}

/** Replaces a failed message by a corrected copy. */
export function editCommand(id: string | undefined, flags: EditFlags, output: Output): Promise<number> {
  const edit = id === undefined ? undefined : (at: Operations, options: EditOptions) => at.edit(id, options);
  return replace(id, flags, output, { edit, howToName: 'Name the failed message by its id.' });
}

/** Replaces a message that a consumer keeps by a corrected copy. */
export function keptEditCommand(id: string | undefined, flags: EditFlags, output: Output): Promise<number> {
  const { group } = flags;
  const edit =
    id === undefined || group === undefined
      ? undefined
      : (at: Operations, options: EditOptions) => at.inbox.edit({ group, id }, options);
  const howToName = 'Name the message by its id, and its consumer group with --group.';
  return replace(id, flags, output, { edit, howToName });
}

async function replace(
  id: string | undefined,
  flags: EditFlags,
  output: Output,
  { edit, howToName }: Editing,
): Promise<number> {
  if (edit === undefined) return usageError(howToName, output);
  const headers = headersOf(flags);
  if (headers === undefined) return usageError('A header is written as name=value.', output);
  if (flags.payloadFile === undefined && Object.keys(headers).length === 0)
    return usageError(
      'Give the new payload as --payload-file, or headers as --header or --remove-header; to send it unchanged, use retry.',
      output,
    );
  const payloadText = await payloadTextOf(flags);
  const shown = printable(id ?? '');
  const refused = await refusedConsent(flags, `Replace the message ${shown} by a copy?`, output);
  if (refused !== undefined) return refused;
  const { expectedVersion } = flags;
  const topics = await topicsOf(flags, output);
  const options = {
    ...optionsOf(flags),
    ...(payloadText !== undefined && { payloadText }),
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(expectedVersion !== undefined && { expectedVersion }),
  };
  const edited = await withOperations(flags, (at) => edit(at, options), { topics });
  const dryRun = flags.dryRun ?? false;
  output.line(
    dryRun ? `Nothing was changed. ${shown} could be replaced.` : `${edited.id} replaces ${shown}.`,
  );
  output.value({ ok: true, dryRun, ...edited });
  return exitCodes.ok;
}

/** What the file of `--payload-file` contains. @throws OutboxError `OUTBOX_COMMAND_INVALID` */
async function payloadTextOf({ payloadFile }: EditFlags): Promise<string | undefined> {
  if (payloadFile === undefined) return undefined;
  try {
    return (await readFile(payloadFile, 'utf8')).trimEnd();
  } catch (cause) {
    throw new OutboxError(
      'OUTBOX_COMMAND_INVALID',
      `The file of --payload-file cannot be read: ${reasonOf(cause)}.`,
      { cause },
    );
  }
}

/** The headers that flags set or, with null, remove; `undefined` if one is not written as name=value. */
function headersOf({
  header = [],
  removeHeader = [],
}: Pick<EditFlags, 'header' | 'removeHeader'>): Record<string, string | null> | undefined {
  const set = header.map((text) => /^([^=]+)=(.*)$/s.exec(text));
  if (set.includes(null)) return undefined;
  return Object.fromEntries([
    ...set.map((match) => [match?.[1] ?? '', match?.[2] ?? ''] as const),
    ...removeHeader.map((name) => [name, null] as const),
  ]);
}

/** The topics of the configuration, whose schemas validate payloads; none without a configuration. */
async function topicsOf(flags: EditFlags, output: Output): Promise<readonly Topic[]> {
  const file = configOf(flags);
  if (existsSync(file)) return (await loadConfig(file)).topics;
  if (flags.payloadFile !== undefined)
    output.trouble(`There is no ${file}: the payload is not checked against the schema of its topic.`);
  return [];
}
