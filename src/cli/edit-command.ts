import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { OutboxError } from '../core/errors.ts';
import { reasonOf } from '../core/reason.ts';
import type { Topic } from '../core/topic.ts';
import { loadConfig } from './load-config.ts';
import {
  type OperatorFlags,
  optionsOf,
  refusedConsent,
  usageError,
  withOperations,
} from './operator-flags.ts';
import { exitCodes, type Output } from './output.ts';
import { configOf } from './register.ts';

export interface EditFlags extends OperatorFlags {
  readonly payloadFile?: string;
  readonly header?: readonly string[];
  readonly removeHeader?: readonly string[];
  readonly expectedVersion?: string;
}

/** Replaces a failed message by a corrected copy. */
export async function editCommand(id: string | undefined, flags: EditFlags, output: Output): Promise<number> {
  if (id === undefined) return usageError('Name the failed message by its id.', output);
  const headers = headersOf(flags);
  if (headers === undefined) return usageError('A header is written as name=value.', output);
  const payloadText = await payloadTextOf(flags);
  const refused = await refusedConsent(flags, `Replace the failed message ${id} by a copy?`, output);
  if (refused !== undefined) return refused;
  const { expectedVersion } = flags;
  const topics = await topicsOf(flags, output);
  const edited = await withOperations(
    flags,
    (at) =>
      at.edit(id, {
        ...optionsOf(flags),
        ...(payloadText !== undefined && { payloadText }),
        ...(Object.keys(headers).length > 0 && { headers }),
        ...(expectedVersion !== undefined && { expectedVersion }),
      }),
    topics,
  );
  const dryRun = flags.dryRun ?? false;
  output.line(dryRun ? `Nothing was changed. ${id} could be replaced.` : `${edited.id} replaces ${id}.`);
  output.value({ ok: true, dryRun, ...edited });
  return exitCodes.ok;
}

/** What the file of `--payload-file` contains. @throws OutboxError `OUTBOX_COMMAND_INVALID` */
export async function payloadTextOf({ payloadFile }: EditFlags): Promise<string | undefined> {
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
export function headersOf({
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
export async function topicsOf(flags: EditFlags, output: Output): Promise<readonly Topic[]> {
  const file = configOf(flags);
  if (existsSync(file)) return (await loadConfig(file)).topics;
  if (flags.payloadFile !== undefined)
    output.trouble(`There is no ${file}: the payload is not checked against the schema of its topic.`);
  return [];
}
