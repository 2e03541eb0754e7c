import type { Transport } from '../../brokers/transport.ts';
import type { DoctorFinding } from '../../core/diagnosis.ts';
import { creatingCommand, type WantedGroups } from '../wanted-groups.ts';

/** Whether each group can receive from these addresses, and what is kept for it. Nothing where groups need nothing. */
export async function examineGroups(
  name: string,
  { groups: broker }: Transport,
  addresses: readonly string[],
  { groups, topics }: WantedGroups,
): Promise<readonly DoctorFinding[]> {
  if (broker === undefined || addresses.length === 0) return [];
  const findings: DoctorFinding[] = [];
  for (const group of groups) {
    const missing = await broker.missing(group, addresses);
    const check = `${name} ${group}`;
    if (missing.length > 0)
      findings.push({
        check,
        state: 'problem',
        message: `The group "${group}" cannot receive yet: ${name} does not have ${missing.join(', ')}.`,
        next: creatingCommand(group, topics),
      });
    else findings.push({ check, state: 'ok', message: 'It has what the group needs.', next: null });
    findings.push(...((await broker.durability?.(group, addresses)) ?? []));
  }
  return findings;
}
