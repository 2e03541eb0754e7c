import type { TidiedGroup, Tidying } from '../../brokers/capabilities.ts';
import { type Config, defineConfig } from '../../config/config.ts';
import { OutboxError } from '../../core/errors.ts';
import { wantedAddresses } from '../wanted-groups.ts';

/** A group of an address, as `groups` shows it. */
export interface FoundGroup extends TidiedGroup {
  /** Where it receives from. */
  readonly address: string;
}

export interface TidyRequest extends Tidying {
  /** Names of topics of the configuration. @defaultValue all of them */
  readonly topics?: readonly string[] | undefined;
}

/**
 * Looks at the groups that brokers keep for the topics of a configuration, and removes those that nobody uses, if asked to.
 *
 * @returns nothing of brokers that forget groups by themselves, or have other tools
 * @throws OutboxError `OUTBOX_TOPIC_UNKNOWN`; `OUTBOX_GROUP_UNKNOWN` if no address has a group that is named;
 * `OUTBOX_SERVER_UNAVAILABLE`, `OUTBOX_PRIVILEGE_MISSING`
 */
export async function tidyGroups(
  given: Config,
  { topics, ...how }: TidyRequest,
): Promise<readonly FoundGroup[]> {
  const config = defineConfig(given);
  const wanted = [...wantedAddresses(config, { groups: [], topics })];
  const keeping = wanted.filter(([transport]) => transport.groups?.tidy !== undefined);
  try {
    const found: FoundGroup[] = [];
    for (const [transport, addresses] of keeping)
      for (const address of addresses)
        for (const group of (await transport.groups?.tidy?.(address, how)) ?? [])
          found.push({ address, ...group });
    refuseUnknown(found, how.groups);
    return found;
  } finally {
    await Promise.all(keeping.map(([transport]) => transport.close()));
  }
}

function refuseUnknown(found: readonly FoundGroup[], groups: readonly string[] | undefined): void {
  const unknown = groups?.find((name) => found.every(({ group }) => group !== name));
  if (unknown === undefined) return;
  throw new OutboxError('OUTBOX_GROUP_UNKNOWN', `No broker keeps a group "${unknown}" for these topics.`, {
    details: { group: unknown },
  });
}
