import type { RelayProcess } from './relay-process.ts';
import type { Scene } from './scene.ts';

/** The state at the moment of the kill. */
export interface KillMoment {
  /** Records in Kafka that were not yet marked as published in the database. */
  readonly unsettled: number;
}

export interface KillInput {
  readonly relay: RelayProcess;
  /** Records in Kafka now. */
  readonly inKafka: () => Promise<number>;
  /** Messages marked as published in the database. */
  readonly known: () => Promise<number>;
  /** Search until Kafka holds this many records; then kill at once. */
  readonly searchUntil: number;
}

/**
 * Kills a working relay with SIGKILL, at the worst moment if one is found: when Kafka has messages that the database
 * does not yet list as published.
 *
 * The moment is found from outside, without support by the relay: the process is frozen for some milliseconds, and
 * resumed if the moment was harmless.
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

/** Kafka is read first and the database twice, so that a settle in flight does not count as missing. */
async function countUnsettled({ inKafka, known }: KillInput): Promise<number> {
  const records = await inKafka();
  return records > (await known()) ? Math.max(0, records - (await known())) : 0;
}
