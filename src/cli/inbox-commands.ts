import type { Command } from 'commander';
import { optionTexts } from '../operations/descriptions.ts';
import { inboxTable } from '../operations/inbox/inbox.ts';
import { withMany } from './bulk-start-command.ts';
import { type ChangeFlags, keptChangeCommand } from './change-command.ts';
import { type EditFlags, keptEditCommand } from './edit-command.ts';
import { type ExpungeFlags, keptExpungeCommand } from './expunge-command.ts';
import { withKeptFilter } from './filter-flags.ts';
import { type InboxShowFlags, inboxShowCommand } from './inbox-show-command.ts';
import { type KeptListFlags, keptListCommand } from './list-command.ts';
import { run } from './output.ts';
import { addCommand, addListCommand, addOperatorCommand, withDatabase } from './register.ts';
import { type RewindFlags, rewindCommand } from './rewind-command.ts';

/** Commands for messages that consumers keep: parked and failed ones. */
export function registerInboxCommands(root: Command): void {
  const inbox = root.command('inbox').description('messages that consumers keep: parked and failed ones');
  withKeptFilter(withGroup(addListCommand(inbox, inboxTable.list.text), false))
    .option('--head', optionTexts.head)
    .option('--limit <count>', optionTexts.limit, '50')
    .option('--after <next>', optionTexts.nextPage)
    .action(run<KeptListFlags>(keptListCommand));
  withGroup(withDatabase(addCommand(inbox, 'show <id>', inboxTable.show.text)))
    .option('--payload', 'show the body')
    .action(run<InboxShowFlags>((flags, output, [id]) => inboxShowCommand(id, flags, output)));
  addChange(inbox, 'retry [ids...]', inboxTable.retry.text).action(
    run<ChangeFlags>((flags, output, ids) => keptChangeCommand('retry', flags, ids, output)),
  );
  withGroup(addOperatorCommand(inbox, 'edit <id>', inboxTable.edit.text))
    .option('--payload-file <file>', 'the new body, JSON')
    .option('--header <name=value...>', 'set headers')
    .option('--remove-header <name...>', 'remove headers')
    .option('--expected-version <version>', 'refuse if the message has another version (see show)')
    .action(run<EditFlags>((flags, output, [id]) => keptEditCommand(id, flags, output)));
  addChange(inbox, 'discard [ids...]', inboxTable.discard.text).action(
    run<ChangeFlags>((flags, output, ids) => keptChangeCommand('discard', flags, ids, output)),
  );
  withGroup(addOperatorCommand(inbox, 'expunge [ids...]', inboxTable.expunge.text)).action(
    run<ExpungeFlags>((flags, output, ids) => keptExpungeCommand(flags, ids, output)),
  );
  withGroup(addOperatorCommand(inbox, 'rewind', inboxTable.rewind.text))
    .option('--to <time>', `${optionTexts.rewindTo}: an ISO time, or a duration such as 2h (required)`)
    .option('--topic <names>', 'only for these topics (default: all of the configuration)')
    .action(run<RewindFlags>((flags, output) => rewindCommand(flags, output)));
}

function withGroup(command: Command, needed = true): Command {
  return command.option('--group <name>', `${optionTexts.group}${needed ? ' (required)' : ''}`);
}

/** A change of messages named by ids, or of all that match a filter. */
function addChange(inbox: Command, usage: string, description: string): Command {
  return withMany(withKeptFilter(withGroup(addOperatorCommand(inbox, usage, description))));
}
