import { operations } from '../app/operations/operations.ts';
import type { DatabaseAddress } from '../config/database-config.ts';
import type { Output } from './output.ts';

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
    return answer;
  } finally {
    await at.close();
  }
}
