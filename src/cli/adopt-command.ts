import { operations } from '../app/operations/operations.ts';
import type { DatabaseAddress } from '../config/database-config.ts';
import { shellWord } from '../core/shell-word.ts';
import type { LastHandled } from '../operations/delivery/adopt.ts';
import type { Output } from './output.ts';
import { printable } from './printable.ts';

export interface AdoptFlags {
  readonly actor: string;
  readonly newInstallation: boolean;
}

/** Lets relays deliver from a restored database, and prints what they will find. */
export async function adoptCommand(
  database: DatabaseAddress,
  flags: AdoptFlags,
  output: Output,
): Promise<object> {
  const at = operations({ database });
  try {
    const answer = await at.adopt(flags);
    output.line(
      answer.adopted
        ? `Adopted as ${answer.installation}: ${answer.settled} messages were published, ${answer.ready} are ready, ${answer.waiting} are waiting.`
        : `Nothing to adopt: the database was not moved; it is the installation ${answer.installation}.`,
    );
    for (const group of answer.groups) output.line(stepFor(group));
    return answer;
  } finally {
    await at.close();
  }
}

/** Groups were rarely further behind than this when the dump was made; what is delivered again too early, their inbox drops. */
const usualLagMs = 10 * 60_000;

function stepFor({ group, lastHandledAt }: LastHandled): string {
  const to = new Date(lastHandledAt.getTime() - usualLagMs).toISOString();
  const name = printable(group);
  return `The group ${name} last handled a message here at ${lastHandledAt.toISOString()}, and its broker does not deliver again what it handled later elsewhere. Stop its consumers, then: temporal-outbox inbox rewind --group ${shellWord(group)} --to ${to} (earlier if it lagged by more than 10 minutes then)`;
}
