import { readFile } from 'node:fs/promises';
import { operations } from '../app/operations/operations.ts';
import type { VerifyOptions } from '../app/operations/verify-operations.ts';
import type { RelayConfig } from '../config/config.ts';
import { type Duration, durationMs } from '../core/duration.ts';
import { OutboxError } from '../core/errors.ts';
import { writtenTime } from '../core/written-time.ts';
import type { InvariantResult } from '../operations/verify/report.ts';
import { exitCodes, type Output } from './output.ts';
import { clip, printable } from './printable.ts';
import type { CommonFlags } from './register.ts';
import { table } from './table.ts';

/** Flags of the command. */
export interface VerifyFlags extends CommonFlags {
  readonly since?: string;
  readonly grace?: string;
  readonly tolerance?: string;
  readonly maxTransaction?: string;
  readonly maxDuplicates?: string;
  readonly effects?: string;
  readonly group?: string;
  readonly inbox?: string;
}

/** Compares rows, the logs of the brokers, and effects; exit code 5 if a promise is broken. */
export async function verifyCommand(
  config: RelayConfig,
  flags: VerifyFlags,
  output: Output,
): Promise<number> {
  const at = operations(config);
  try {
    const report = await at.verify(await optionsOf(flags));
    output.line(table(['INVARIANT', 'KEPT', 'CHECKED', 'BROKEN', 'NOTES'], report.invariants.map(row)));
    for (const result of report.invariants) tellViolations(result, output);
    output.line(`Read ${report.records} records.`);
    if (report.unreadTopics.length > 0)
      output.line(`Their logs cannot be read: ${report.unreadTopics.map(printable).join(', ')}.`);
    output.value(report);
    return report.ok ? exitCodes.ok : exitCodes.broken;
  } finally {
    await at.close();
  }
}

function row({ invariant, ok, checked, violations, notes }: InvariantResult): readonly string[] {
  const told = Object.entries(notes).flatMap(([name, count]) => (count === 0 ? [] : [`${count} ${name}`]));
  return [invariant, ok ? 'yes' : 'NO', String(checked), String(violations), told.join(', ')];
}

function tellViolations({ invariant, first, violations }: InvariantResult, output: Output): void {
  for (const { what, topic, id, key } of first) {
    const whose = [topic, id, key === null ? null : `key ${key}`].filter((part) => part !== null);
    output.line(`${invariant}: ${printable(what)} ${whose.map((part) => clip(part, 60)).join(' ')}`);
  }
  if (violations > first.length) output.line(`${invariant}: and ${violations - first.length} more.`);
}

async function optionsOf(flags: VerifyFlags): Promise<VerifyOptions> {
  const since = flags.since === undefined ? undefined : sinceOf(flags.since);
  return {
    since,
    grace: lengthOf('grace', flags.grace),
    tolerance: lengthOf('tolerance', flags.tolerance),
    maxTransaction: lengthOf('max-transaction', flags.maxTransaction),
    maxDuplicates: flags.maxDuplicates === undefined ? undefined : shareOf(flags.maxDuplicates),
    effects: await effectsOf(flags),
  };
}

/** A time, given as such or as a duration before now. */
function sinceOf(text: string): Date {
  const ago = msOf(text);
  const since = ago === undefined ? writtenTime(text)?.at : new Date(Date.now() - ago);
  if (since === undefined) throw invalid('since', 'a duration such as 2h, or an ISO time');
  return since;
}

function lengthOf(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const length = msOf(text);
  if (length === undefined || length < 0) throw invalid(option, 'a duration such as 30s');
  return length;
}

function msOf(text: string): number | undefined {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- durationMs answers undefined for other texts
  return durationMs(text as Duration);
}

function shareOf(text: string): number {
  const share = Number(text);
  if (/^\d*\.?\d+$/.test(text) && share <= 1) return share;
  throw invalid('max-duplicates', 'a share from 0 to 1');
}

async function effectsOf({ effects, group, inbox }: VerifyFlags): Promise<VerifyOptions['effects']> {
  if (group === undefined) {
    const needing = effects === undefined ? inbox && '--inbox' : '--effects';
    if (needing === undefined) return undefined;
    throw invalid('group', `given, and ${needing} is`);
  }
  const query = effects === undefined ? undefined : await readFile(effects, 'utf8');
  return { query, group, ...(inbox !== undefined && { database: { url: inbox } }) };
}

function invalid(option: string, wanted: string): OutboxError {
  return new OutboxError('OUTBOX_OPTION_INVALID', `--${option} is not ${wanted}.`, { details: { option } });
}
