import type { RelayProcess } from './relay-process.ts';
import type { Scene } from './scene.ts';

/** What was true at the moment of the kill. */
export interface KillMoment {
  /** Records in Kafka of which the database did not know that they are published. */
  readonly unsettled: number;
}

export interface KillInput {
  readonly relay: RelayProcess;
  /** Records in Kafka now. */
  readonly inKafka: () => Promise<number>;
  /** Messages that the database knows to be published. */
  readonly known: () => Promise<number>;
  /** Search until Kafka holds this many records; then kill without waiting for a bad moment any longer. */
  readonly searchUntil: number;
}

/**
 * Kills a working relay with SIGKILL, at the worst moment if one is found: when Kafka has messages of which the
 * database does not yet know that they are published.
 *
 * The moment is found from outside: the process is frozen for some milliseconds, looked at, and let go when it was a
 * harmless one. The relay has no part in it.
 */
export async function killInMidSend({ until }: Scene, input: KillInput): Promise<KillMoment> {
  const { relay, inKafka, searchUntil } = input;
  const moment = await until('there is a moment to kill the relay in its work', async () => {
    relay.signal('SIGSTOP');
    const unsettled = await countUnsettled(input);
    if (unsettled > 0 || (await inKafka()) >= searchUntil) return { unsettled };
    relay.signal('SIGCONT');
    return undefined;
  });
  relay.signal('SIGKILL');
  await relay.exited;
  return moment;
}

/** Kafka is read first and the database twice, so that a settle on its way is not taken for a missing one. */
async function countUnsettled({ inKafka, known }: KillInput): Promise<number> {
  const records = await inKafka();
  return records > (await known()) ? Math.max(0, records - (await known())) : 0;
}
