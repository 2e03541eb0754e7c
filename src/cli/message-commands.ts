import { type Command, Option } from 'commander';
import { deliveryTable } from '../operations/delivery/delivery.ts';
import { optionTexts } from '../operations/descriptions.ts';
import { messageTable, tailDeclared } from '../operations/messages/messages.ts';
import { withMany } from './bulk-start-command.ts';
import { type NamedFlags, namedChange, namedCommand } from './change-command.ts';
import { type EditFlags, editCommand } from './edit-command.ts';
import { withFilter } from './filter-flags.ts';
import { currentHost } from './host.ts';
import { type ListFlags, listCommand } from './list-command.ts';
import { usageError } from './operator-flags.ts';
import { run } from './output.ts';
import { type PauseFlags, pauseCommand, resumeCommand, timeoutOf } from './pause-command.ts';
import { addCommand, addOperatorCommand, stopSignal, withDatabase } from './register.ts';
import { type ReplayFlags, replayCommand } from './replay-command.ts';
import { type RescheduleFlags, rescheduleCommand } from './reschedule-command.ts';
import { type ShowFlags, showCommand } from './show-command.ts';
import { type TailFlags, tailCommand } from './tail-command.ts';

/** Commands for single messages, and for pauses of topics. */
export function registerMessageCommands(root: Command): void {
  withFilter(withDatabase(addCommand(root, 'list', messageTable.list.text)))
    .option('--limit <count>', optionTexts.limit, '50')
    .option('--after <next>', optionTexts.nextPage)
    .action(run<ListFlags>(listCommand));
  withFilter(withDatabase(addCommand(root, 'tail', `${tailDeclared.text}, until stopped`)))
    .option('--last <count>', optionTexts.last, '10')
    .option('--interval <duration>', 'between two looks, 100ms to 1h (default: 1s)')
    .action(
      run<TailFlags>(async (flags, output) => {
        // A reader such as `head` has read enough.
        const unread = new AbortController();
        currentHost().stdout.once('error', () => unread.abort());
        const signal = AbortSignal.any([stopSignal(), unread.signal]);
        return tailCommand(flags, output, signal);
      }),
    );
  withDatabase(addCommand(root, 'show <id>', messageTable.show.text))
    .option('--payload', 'show the payload')
    .option('--log', `${optionTexts.log}, with --config`)
    .action(run<ShowFlags>((flags, output, [id]) => showCommand(id, flags, output)));
  registerChanges(root);
  addOperatorCommand(root, 'edit <id>', messageTable.edit.text)
    .option('--payload-file <file>', 'the new payload, JSON')
    .option('--header <name=value...>', 'set headers')
    .option('--remove-header <name...>', 'remove headers')
    .option('--expected-version <version>', 'refuse if the message has another version (see show)')
    .action(run<EditFlags>((flags, output, [id]) => editCommand(id, flags, output)));
  registerPauses(root);
}

function registerChanges(root: Command): void {
  addChange(root, 'cancel [ids...]', messageTable.cancel.text).action(namedChange('cancel'));
  addChange(root, 'reschedule [ids...]', messageTable.reschedule.text)
    .option('--after <duration>', `${optionTexts.dueAfter}, such as 15m; 0 means now`)
    .option('--at <time>', `${optionTexts.dueAt}, in ISO form`)
    .option('--shift <duration>', `${optionTexts.shift}, with a filter; --shift=-15m: earlier`)
    .action(run<RescheduleFlags>((flags, output, ids) => rescheduleCommand(flags, ids, output)));
  addChange(root, 'retry [ids...]', messageTable.retry.text).action(namedChange('retry'));
  addChange(root, 'discard [ids...]', messageTable.discard.text).action(namedChange('discard'));
  // They are named, because it cannot be undone.
  addNamed(root, 'expunge [ids...]', messageTable.expunge.text).action(
    run<NamedFlags>((flags, output, ids) =>
      namedCommand('expunge', flags, ids, output, (at, target, options) => at.expunge(target, options)),
    ),
  );
  withMany(
    withFilter(addOperatorCommand(root, 'replay', 'send delivered messages of a topic again, with new ids')),
  )
    .option('--to <topic>', optionTexts.replayTo)
    .option('--id <ids...>', optionTexts.replayIds)
    .addOption(new Option('--address <address>', 'is refused, with what to do instead').hideHelp())
    .addOption(new Option('--same-ids', 'is refused, with the reason').hideHelp())
    .action(run<ReplayFlags>(replayCommand));
  addNamed(root, 'withdraw [ids...]', messageTable.withdraw.text)
    .option('--timeout <duration>', `${optionTexts.waitForRelays} (default: 15s)`)
    .action(
      run<NamedFlags & { readonly timeout?: string }>((flags, output, ids) => {
        const timeout = timeoutOf(flags);
        if (timeout === 'invalid')
          return Promise.resolve(usageError('--timeout takes a duration such as 15s.', output));
        return namedCommand('withdraw', flags, ids, output, (at, target, options) =>
          at.withdraw(target, { ...options, ...(timeout !== undefined && { timeout }) }),
        );
      }),
    );
}

/** A change of messages named by ids, or of one by topic and ref. */
function addNamed(root: Command, usage: string, description: string): Command {
  return addOperatorCommand(root, usage, description)
    .option('--topic <name>', optionTexts.topic)
    .option('--ref <ref>', optionTexts.ref);
}

/** A change of messages named by ids, or by topic and ref, or of all that match a filter. */
function addChange(root: Command, usage: string, description: string): Command {
  return withMany(withFilter(addOperatorCommand(root, usage, description)));
}

function registerPauses(root: Command): void {
  addOperatorCommand(root, 'pause [topic]', deliveryTable.pause.text)
    .option('--transport <name>', optionTexts.transport)
    .option('--timeout <duration>', `${optionTexts.waitForRelays} to stop (default: 15s)`)
    .action(run<PauseFlags>((flags, output, [topic]) => pauseCommand(topic, flags, output)));
  addOperatorCommand(root, 'resume [topic]', deliveryTable.resume.text)
    .option('--transport <name>', optionTexts.transport)
    .action(run<PauseFlags>((flags, output, [topic]) => resumeCommand(topic, flags, output)));
}
