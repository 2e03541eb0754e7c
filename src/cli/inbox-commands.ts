import type { Command } from 'commander';
import { withMany } from './bulk-start-command.ts';
import { type ChangeFlags, keptChangeCommand } from './change-command.ts';
import { type EditFlags, keptEditCommand } from './edit-command.ts';
import { withKeptFilter } from './filter-flags.ts';
import { type InboxShowFlags, inboxShowCommand } from './inbox-show-command.ts';
import { keptListCommand, type ListFlags } from './list-command.ts';
import { run } from './output.ts';
import { addCommand, addOperatorCommand, withDatabase } from './register.ts';

/** Commands for messages that consumers keep: parked and failed ones. */
export function registerInboxCommands(root: Command): void {
  const inbox = root.command('inbox').description('messages that consumers keep: parked and failed ones');
  withKeptFilter(
    withGroup(withDatabase(addCommand(inbox, 'list', 'list kept messages, latest first')), false),
  )
    .option('--limit <count>', 'how many, 1 to 200', '50')
    .option('--after <next>', 'continue where the previous list ended')
    .action(run<ListFlags>(keptListCommand));
  withGroup(withDatabase(addCommand(inbox, 'show <id>', 'show one message, and why it is kept')))
    .option('--payload', 'show the body')
    .action(run<InboxShowFlags>((flags, output, [id]) => inboxShowCommand(id, flags, output)));
  addChange(inbox, 'retry [ids...]', 'retry failed messages, and parked ones now').action(
    run<ChangeFlags>((flags, output, ids) => keptChangeCommand('retry', flags, ids, output)),
  );
  withGroup(
    addOperatorCommand(
      inbox,
      'edit <id>',
      'replace a failed message, or the first of a parked key, by a copy',
    ),
  )
    .option('--payload-file <file>', 'the new body, JSON')
    .option('--header <name=value...>', 'set headers')
    .option('--remove-header <name...>', 'remove headers')
    .option('--expected-version <version>', 'refuse if the message has another version (see show)')
    .action(run<EditFlags>((flags, output, [id]) => keptEditCommand(id, flags, output)));
  addChange(inbox, 'discard [ids...]', 'end failed and parked messages for good').action(
    run<ChangeFlags>((flags, output, ids) => keptChangeCommand('discard', flags, ids, output)),
  );
}

function withGroup(command: Command, needed = true): Command {
  return command.option('--group <name>', `of this consumer group${needed ? ' (required)' : ''}`);
}

/** A change of messages named by ids, or of all that match a filter. */
function addChange(inbox: Command, usage: string, description: string): Command {
  return withMany(withKeptFilter(withGroup(addOperatorCommand(inbox, usage, description))));
}
