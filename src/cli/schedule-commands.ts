import type { Command } from 'commander';
import ms from 'ms';
import type { Operations } from '../app/operations/operations.ts';
import type { OperationOptions } from '../operations/operation-options.ts';
import { type ScheduleChange, type ScheduleRun, scheduleTable } from '../operations/schedules/schedules.ts';
import { type OperatorFlags, optionsOf, refusedConsent, withOperations } from './operator-flags.ts';
import { exitCodes, type Output, run } from './output.ts';
import { addDeclaredCommand, type CommonFlags } from './register.ts';
import { tableWith } from './table.ts';

type Listed = Awaited<ReturnType<Operations['schedules']['list']>>[number];

/** Commands for repeating messages. They write rows; relays have Temporal follow. */
export function registerScheduleCommands(root: Command): void {
  const schedules = root.command('schedules').description('list and control repeating messages');
  addDeclaredCommand(schedules, 'list', scheduleTable.list).action(run<CommonFlags>(listCommand));
  const steps = [
    ['pause', 'Pause', 'paused'],
    ['resume', 'Resume', 'resumed'],
    ['run', 'Write a message of', 'run'],
    ['remove', 'Remove', 'removed'],
  ] as const;
  for (const [step, verb, done] of steps) {
    addDeclaredCommand(schedules, step, scheduleTable[step]).action(
      run<OperatorFlags>((flags, output, [name = '']) =>
        changeCommand({ name, question: `${verb} ${name}?`, done }, flags, output, (at, options) =>
          at[step](name, options),
        ),
      ),
    );
  }
}

const heading = ['NAME', 'TOPIC', 'REPEATS', 'STATE', 'LAST', 'NEXT'];

async function listCommand(flags: CommonFlags, output: Output): Promise<number> {
  const schedules = await withOperations(flags, (at) => at.schedules.list());
  output.line(schedules.length === 0 ? 'No message repeats.' : tableWith(heading, schedules, rowOf, linesOf));
  output.value({ ok: true, schedules });
  return exitCodes.ok;
}

function rowOf({ cron, everyMs, lastAt, name, nextAt, paused, followed, timeZone, topic }: Listed): string[] {
  const repeats = everyMs === null ? `${cron} ${timeZone}` : `every ${ms(everyMs, { long: true })}`;
  const state = [paused ? 'paused' : 'on', ...(followed ? [] : ['Temporal follows'])].join(', ');
  return [name, topic, repeats, state, timeOf(lastAt ?? undefined), timeOf(nextAt[0])];
}

function linesOf({ lastError, lastMessageId }: Listed): readonly string[] {
  return [
    ...(lastMessageId === null ? [] : [`  last message ${lastMessageId}`]),
    ...(lastError === null ? [] : [`  refused: ${lastError}`]),
  ];
}

function timeOf(at: Date | undefined): string {
  return at === undefined ? '-' : at.toISOString().replace('.000Z', 'Z');
}

interface Step {
  readonly name: string;
  readonly question: string;
  /** What the schedule is then. */
  readonly done: string;
}

async function changeCommand(
  { done, name, question }: Step,
  flags: OperatorFlags,
  output: Output,
  work: (at: Operations['schedules'], options: OperationOptions) => Promise<ScheduleChange | ScheduleRun>,
): Promise<number> {
  const refused = await refusedConsent(flags, question, output);
  if (refused !== undefined) return refused;
  const answer = await withOperations(flags, (at) => work(at.schedules, optionsOf(flags)));
  const dryRun = flags.dryRun ?? false;
  if ('messageId' in answer)
    output.line(
      dryRun
        ? `Nothing was changed. A message of "${name}" would be written.`
        : `Written: message ${answer.messageId}.`,
    );
  else if (!answer.changed) output.line(`Nothing to do: "${name}" is so already.`);
  else
    output.line(
      dryRun
        ? `Nothing was changed. "${name}" would be ${done}.`
        : `"${name}" is ${done}; relays have Temporal follow.`,
    );
  output.value({ ok: true, dryRun, ...answer });
  return exitCodes.ok;
}
