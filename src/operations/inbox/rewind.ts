import { OutboxError } from '../../core/errors.ts';
import type { Rewinding, RewoundPartition } from '../../core/rewinding.ts';
import type { Database } from '../../store/database/database.ts';
import { readConsumers } from '../../store/inbox/consumers.ts';
import { rewindAudited } from '../../store/inbox/rewind.ts';
import { assertText, authorOf, invalid, type OperationOptions } from '../operation-options.ts';

export type { RewoundPartition };

/** Options of a rewind. */
export interface RewindOptions extends OperationOptions {
  /** Messages that the broker stored at this time or later are delivered again. */
  readonly to: Date;
  /** Names of topics of the configuration. @defaultValue all of them */
  readonly topics?: readonly string[] | undefined;
}

/** An address where a group was set back. */
export interface RewoundAddress {
  /** Where its messages arrive. */
  readonly address: string;
  /** Those for which the group has committed an offset. */
  readonly partitions: readonly RewoundPartition[];
}

/** Result of a rewind. */
export interface RewindAnswer {
  /** Where the group had committed offsets. */
  readonly rewound: readonly RewoundAddress[];
  /** Names of the transports of these topics that keep no place of a group by time: nothing was done there. */
  readonly unable: readonly string[];
}

/** A broker, and where the topics in question arrive. */
export interface RewindableBroker {
  readonly addresses: readonly string[];
  readonly rewind: (how: Rewinding) => Promise<readonly RewoundPartition[]>;
}

/** The brokers of some topics, by whether they can set a group back. */
export interface Rewindable {
  readonly brokers: readonly RewindableBroker[];
  /** Names of the transports that cannot. */
  readonly unable: readonly string[];
}

/**
 * Sets a group back at its brokers, so that they deliver again what they stored since a time; the inbox drops what the group has
 * handled. Nothing is set, here or there, while a consumer of the group runs.
 *
 * @throws OutboxError `OUTBOX_GROUP_IN_USE`, `OUTBOX_GROUP_UNKNOWN` if it has committed no offset, `OUTBOX_TRANSPORT_UNKNOWN` if no
 * broker can do that, `OUTBOX_OPTION_INVALID`, `OUTBOX_SERVER_UNAVAILABLE`
 */
export async function rewindGroup(
  database: Database,
  { brokers, unable }: Rewindable,
  group: string,
  { to, dryRun = false, ...options }: RewindOptions,
): Promise<RewindAnswer> {
  assertText('group', group, 200);
  if (!(to instanceof Date) || !(to.getTime() <= Date.now())) throw invalid('to', 'a time that is over', to);
  const author = authorOf(options);
  if (brokers.length === 0) throw cannot(unable);
  await refuseRunning(database, group);
  const planned = await onEach(brokers, { group, to, dryRun: true });
  if (planned.length === 0)
    throw new OutboxError(
      'OUTBOX_GROUP_UNKNOWN',
      `The group "${group}" has committed no offset for these topics.`,
      { details: { group } },
    );
  if (dryRun) return { rewound: planned, unable };
  const rewound = await rewindAudited(database, { author, group, to }, () =>
    onEach(brokers, { group, to, dryRun: false }),
  );
  return { rewound, unable };
}

async function onEach(
  brokers: readonly RewindableBroker[],
  how: Omit<Rewinding, 'address'>,
): Promise<readonly RewoundAddress[]> {
  const rewound: RewoundAddress[] = [];
  for (const { addresses, rewind } of brokers)
    for (const address of addresses) rewound.push({ address, partitions: await rewind({ ...how, address }) });
  return rewound.filter(({ partitions }) => partitions.length > 0);
}

/** One that runs has a row here even while its broker does not answer it. */
async function refuseRunning(database: Database, group: string): Promise<void> {
  const running = (await readConsumers(database)).filter((one) => one.group === group && one.alive);
  if (running.length === 0) return;
  throw new OutboxError(
    'OUTBOX_GROUP_IN_USE',
    `Consumers of the group "${group}" run: ${running.map(({ host, pid }) => `pid ${pid} on ${host}`).join(', ')}.`,
    { details: { group, members: running.length } },
  );
}

/** A replay cannot see what has an effect, and its copies have new ids: without ids it would repeat every effect. */
export const replayInstead =
  '"replay --id" sends copies of the messages that the group lacks, which every group of the topic handles.';

function cannot(transports: readonly string[]): OutboxError {
  return new OutboxError(
    'OUTBOX_TRANSPORT_UNKNOWN',
    `No transport of these topics can set a group back to a time (${transports.join(', ')}): ${replayInstead}`,
    { details: { transports } },
  );
}
