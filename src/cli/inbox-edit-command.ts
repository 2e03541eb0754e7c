import { type EditFlags, headersOf, payloadTextOf, topicsOf } from './edit-command.ts';
import { optionsOf, refusedConsent, usageError, withOperations } from './operator-flags.ts';
import { exitCodes, type Output } from './output.ts';
import { printable } from './printable.ts';

export interface InboxEditFlags extends EditFlags {
  readonly group?: string;
}

/** Replaces a message that a consumer keeps by a corrected copy. */
export async function inboxEditCommand(
  id: string | undefined,
  flags: InboxEditFlags,
  output: Output,
): Promise<number> {
  const { expectedVersion, group } = flags;
  if (id === undefined || group === undefined)
    return usageError('Name the message by its id, and its consumer group with --group.', output);
  const headers = headersOf(flags);
  if (headers === undefined) return usageError('A header is written as name=value.', output);
  const payloadText = await payloadTextOf(flags);
  const refused = await refusedConsent(flags, `Replace the message ${printable(id)} by a copy?`, output);
  if (refused !== undefined) return refused;
  const topics = await topicsOf(flags, output);
  const edited = await withOperations(
    flags,
    (at) =>
      at.inbox.edit(
        { group, id },
        {
          ...optionsOf(flags),
          ...(payloadText !== undefined && { payloadText }),
          ...(Object.keys(headers).length > 0 && { headers }),
          ...(expectedVersion !== undefined && { expectedVersion }),
        },
      ),
    topics,
  );
  const dryRun = flags.dryRun ?? false;
  const shown = printable(id);
  output.line(
    dryRun ? `Nothing was changed. ${shown} could be replaced.` : `${edited.id} replaces ${shown}.`,
  );
  output.value({ ok: true, dryRun, ...edited });
  return exitCodes.ok;
}
