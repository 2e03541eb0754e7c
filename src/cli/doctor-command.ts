import { type DoctorFinding, type DoctorOptions, examineAll } from '../app/doctor/doctor.ts';
import type { Config } from '../config/config.ts';
import { counted } from '../core/diagnosis.ts';
import { exitCodes, type Output } from './output.ts';
import { table } from './table.ts';

const words = { problem: 'PROBLEM', unexamined: 'not examined', warning: 'warning', ok: 'ok' } as const;
const severities = ['problem', 'unexamined', 'warning', 'ok'] as const;

/**
 * Examines every server of the configuration and shows what was found, problems first. Exit code 1 if there is a problem, 3
 * if there is none and something could not be examined in time.
 */
export async function doctorCommand(
  config: Config,
  output: Output,
  options: DoctorOptions = {},
): Promise<number> {
  const found = await examineAll(config, options);
  const of = (state: DoctorFinding['state']): readonly DoctorFinding[] =>
    found.filter((finding) => finding.state === state);
  const findings = severities.flatMap(of);
  const [problems = 0, unexamined = 0, warnings = 0, passed = 0] = severities.map(
    (state) => of(state).length,
  );
  output.line(table(['STATE', 'CHECK', 'FINDING'], findings.flatMap(rowsOf)));
  output.line(
    `\n${counted(problems, 'problem')}, ${unexamined === 0 ? '' : `${unexamined} not examined, `}${counted(warnings, 'warning')}, ${counted(passed, 'check')} passed.`,
  );
  output.value({ ok: problems + unexamined === 0, problems, unexamined, warnings, passed, findings });
  if (problems > 0) return exitCodes.failed;
  return unexamined > 0 ? exitCodes.unreachable : exitCodes.ok;
}

function rowsOf({ check, message, next, state }: DoctorFinding): readonly (readonly string[])[] {
  const found = [words[state], check, message];
  return next === null ? [found] : [found, ['', '', `Next: ${next}`]];
}
