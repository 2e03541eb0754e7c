import type { Command } from 'commander';
import type { Operations } from '../app/operations/operations.ts';
import { testAlerts } from '../app/operations/test-alerts.ts';
import { requireDatabase } from '../config/config.ts';
import { OutboxError } from '../core/errors.ts';
import { alertTable } from '../operations/alerts/alerts.ts';
import { optionTexts } from '../operations/descriptions.ts';
import { age } from './age.ts';
import { durationOfFlag } from './flag-values.ts';
import { loadConfig } from './load-config.ts';
import {
  configOf,
  type OperatorFlags,
  optionsOf,
  refusedConsent,
  usageError,
  withOperations,
} from './operator-flags.ts';
import { exitCodes, type Output, run } from './output.ts';
import { clip, printable, screenColumns } from './printable.ts';
import { addCommand, addDeclaredCommand, type CommonFlags, withConfig } from './register.ts';
import { tableWith } from './table.ts';

type AlertStatus = Awaited<ReturnType<Operations['alerts']['list']>>;
type ListedAlert = AlertStatus['alerts'][number];

interface SilenceFlags extends OperatorFlags {
  readonly for?: string;
}

/** Commands for the alerts of relays. */
export function registerAlertCommands(root: Command): void {
  const alerts = root.command('alerts').description('list, test and silence the alerts of relays');
  addDeclaredCommand(alerts, 'list', alertTable.list).action(run<CommonFlags>(listCommand));
  withConfig(addCommand(alerts, 'test', 'send a test alert to each destination of the configuration')).action(
    run<CommonFlags>(testCommand),
  );
  addDeclaredCommand(alerts, 'silence', alertTable.silence)
    .option('--for <duration>', `${optionTexts.silenceFor} (such as 2h)`)
    .action(run<SilenceFlags>((flags, output, [rule = '']) => silenceCommand(rule, flags, output)));
}

const heading = ['RULE', 'ABOUT', 'STATE', 'TOLD', 'FIGURE'];

async function listCommand(flags: CommonFlags, output: Output): Promise<number> {
  const status = await withOperations(flags, (at) => at.alerts.list());
  const { alerts } = status;
  output.line(alerts.length === 0 ? 'Nothing fires.' : tableWith(heading, alerts, rowOf, nextOf));
  for (const line of [...silenceLines(status), ...destinationLines(status), readLine(status)])
    output.line(line);
  output.value({ ok: true, ...status });
  return exitCodes.ok;
}

function rowOf({ overAt, rule, since, subject, text, toldAt }: ListedAlert): readonly string[] {
  const state = overAt === null ? `fires for ${agoOf(since)}` : `over for ${agoOf(overAt)}`;
  const told = toldAt === null ? 'nobody' : `${agoOf(toldAt)} ago`;
  return [rule, subject === '' ? '-' : subject, state, told, text];
}

function nextOf({ next, overAt }: ListedAlert): readonly string[] {
  return overAt === null ? [`  Next: ${next}`] : [];
}

function silenceLines({ silences }: AlertStatus): readonly string[] {
  return silences.map(({ actor, reason, rule, until }) => {
    const why = reason === null ? '' : `: ${reason}`;
    return clip(`${rule} is silenced until ${until.toISOString()} by ${actor}${why}`, screenColumns());
  });
}

function destinationLines({ destinations }: AlertStatus): readonly string[] {
  return destinations
    .filter(({ error }) => error !== null)
    .map(({ error, failures, name }) =>
      clip(`${name} has failed ${failures} ${failures === 1 ? 'time' : 'times'}: ${error}`, screenColumns()),
    );
}

function readLine({ readMs }: AlertStatus): string {
  return readMs === null
    ? 'No relay has judged anything yet: give relays the setting "alerts".'
    : `A relay read the figures ${age(readMs)} ago.`;
}

/** By the clock of this machine: for people, that is near enough. */
function agoOf(at: Date): string {
  return age(Math.max(0, Date.now() - at.getTime()));
}

async function testCommand(flags: CommonFlags, output: Output): Promise<number> {
  const config = requireDatabase(await loadConfig(configOf(flags)), 'The command alerts test');
  const tested = await testAlerts(config);
  if (tested.length === 0)
    throw new OutboxError(
      'OUTBOX_CONFIG_MISSING',
      'The configuration has no destination of alerts: neither alerts.to.webhook nor alerts.to.email.',
      { details: { setting: 'alerts.to' } },
    );
  for (const { error, name } of tested)
    output.line(error === null ? `${name} accepted a test alert.` : `${name} did not: ${printable(error)}`);
  const ok = tested.every(({ error }) => error === null);
  output.value({ ok, destinations: tested });
  return ok ? exitCodes.ok : exitCodes.failed;
}

async function silenceCommand(rule: string, flags: SilenceFlags, output: Output): Promise<number> {
  if (flags.for === undefined)
    return usageError('Say for how long, with --for and a duration such as 2h.', output);
  const forMs = durationOfFlag('for', flags.for);
  const question = forMs === 0 ? `End the silence of ${rule}?` : `Silence ${rule} for ${age(forMs)}?`;
  const refused = await refusedConsent(flags, question, output);
  if (refused !== undefined) return refused;
  const { until } = await withOperations(flags, (at) =>
    at.alerts.silence(rule, { ...optionsOf(flags), for: forMs }),
  );
  const dryRun = flags.dryRun ?? false;
  const [does, would] = dryRun ? ['Nothing was changed. ', 'would tell'] : ['', 'tells'];
  const whom = until === null ? 'again' : `nobody until ${until.toISOString()}`;
  output.line(`${does}${rule} ${would} ${whom}.`);
  output.value({ ok: true, dryRun, until });
  return exitCodes.ok;
}
