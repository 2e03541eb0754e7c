import type { Command } from 'commander';
import type { BulkTask } from '../config/bulk-operations.ts';
import {
  type BulkStartOptions,
  bulkStartCommand,
  filterMisuse,
  isFilter,
  withMany,
} from './bulk-start-command.ts';
import { type ChangeOptions, changeCommand } from './change-command.ts';
import { type EditOptions, editCommand } from './edit-command.ts';
import { withFilter } from './filter-options.ts';
import { type ListOptions, listCommand } from './list-command.ts';
import { addOperatorCommand, usageError } from './operator-options.ts';
import type { Output } from './output.ts';
import { type PauseOptions, pauseCommand, resumeCommand, withinOf } from './pause-command.ts';
import { addCommand, run, withDatabase } from './register.ts';
import { type RescheduleOptions, rescheduleCommand } from './reschedule-command.ts';
import { type ShowOptions, showCommand } from './show-command.ts';

/** Commands about single messages, and the pause of topics. */
export function registerMessageCommands(root: Command): void {
  withFilter(withDatabase(addCommand(root, 'list', 'list messages, newest first')))
    .option('--limit <count>', 'how many, 1 to 200', '50')
    .option('--after <next>', 'go on where the list before ended')
    .action(run<ListOptions>(listCommand));
  withDatabase(addCommand(root, 'show <id>', 'show one message, and why it is not delivered'))
    .option('--payload', 'show the payload')
    .action(run<ShowOptions>((options, output, [id]) => showCommand(id, options, output)));
  registerChanges(root);
  addOperatorCommand(root, 'edit <id>', 'replace a failed message by a corrected copy')
    .option('--payload-file <file>', 'the new payload, JSON')
    .option('--header <name=value...>', 'set headers')
    .option('--remove-header <name...>', 'leave headers out')
    .option('--expected-version <version>', 'refuse when the message has another version (see show)')
    .action(run<EditOptions>((options, output, [id]) => editCommand(id, options, output)));
  registerPauses(root);
}

function registerChanges(root: Command): void {
  addChange(root, 'cancel [ids...]', 'cancel what waits, retries or is held').action(
    change({ action: 'cancel' }, (options, output, ids) =>
      changeCommand('Cancel', { options, ids, output }, (at, target, ask) => at.cancel(target, ask)),
    ),
  );
  addChange(root, 'reschedule [ids...]', 'move the due time of waiting messages')
    .option('--after <duration>', 'from now on, such as 15m; 0 means now')
    .option('--at <time>', 'at this ISO time')
    .option('--shift <duration>', 'each by so much, with a filter; --shift=-15m: to earlier')
    .action(run<RescheduleOptions>((options, output, ids) => rescheduleCommand(options, ids, output)));
  addChange(root, 'retry [ids...]', 'deliver failed or retrying messages now').action(
    change({ action: 'retry' }, (options, output, ids) =>
      changeCommand('Retry', { options, ids, output }, (at, target, ask) => at.retry(target, ask)),
    ),
  );
  addChange(root, 'discard [ids...]', 'end failed messages for good').action(
    change({ action: 'discard' }, (options, output, ids) =>
      changeCommand('Discard', { options, ids, output }, (at, target, ask) => at.discard(target, ask)),
    ),
  );
  addChange(root, 'withdraw [ids...]', 'cancel also what is ready but surely not published')
    .option('--within <duration>', 'how long to wait for relays (default: 15s)')
    .action(
      change({ action: 'withdraw' }, (options, output, ids) => {
        const withinMs = withinOf(options);
        if (withinMs === 'invalid')
          return Promise.resolve(usageError('--within takes a time such as 15s.', output));
        return changeCommand('Withdraw', { options, ids, output }, (at, target, ask) =>
          at.withdraw(target, { ...ask, ...(withinMs !== undefined && { withinMs }) }),
        );
      }),
    );
}

/** A change of messages that ids, or a topic and ref, name; or of all that a filter matches. */
function addChange(root: Command, usage: string, description: string): Command {
  return withMany(addOperatorCommand(root, usage, description));
}

type NamedChange = (options: AnyChangeOptions, output: Output, ids: readonly string[]) => Promise<number>;

interface AnyChangeOptions extends ChangeOptions, BulkStartOptions {
  readonly within?: string;
}

function change(task: BulkTask, named: NamedChange) {
  return run<AnyChangeOptions>((options, output, ids) => {
    if (isFilter(options, ids)) {
      return options.within === undefined
        ? bulkStartCommand(task, options, output)
        : Promise.resolve(usageError('--within goes with ids.', output));
    }
    const misuse = filterMisuse(options, ids);
    return misuse === undefined ? named(options, output, ids) : Promise.resolve(usageError(misuse, output));
  });
}

function registerPauses(root: Command): void {
  addOperatorCommand(root, 'pause [topic]', 'stop the delivery of a topic or transport')
    .option('--transport <name>', 'all topics of this transport')
    .option('--within <duration>', 'how long to wait for relays to let go (default: 15s)')
    .action(run<PauseOptions>((options, output, [topic]) => pauseCommand(topic, options, output)));
  addOperatorCommand(root, 'resume [topic]', 'go on with the delivery of a topic or transport')
    .option('--transport <name>', 'all topics of this transport')
    .action(run<PauseOptions>((options, output, [topic]) => resumeCommand(topic, options, output)));
}
