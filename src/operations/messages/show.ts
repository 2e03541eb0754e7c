import type { Database } from '../../store/database/database.ts';
import { readInboxIds } from '../../store/installation/installation.ts';
import { lagsOf } from '../../store/installation/lags.ts';
import { readRelays } from '../../store/installation/relays.ts';
import { readSettings } from '../../store/installation/settings.ts';
import { type Keeper, readKeepers } from '../../store/message/keepers.ts';
import {
  readAttempts,
  readAudit,
  readStoredMessage,
  type ShownAttempt,
  type ShownAudit,
  type ShownMessage,
} from '../../store/message/show.ts';
import { readDelivery, type ShownDelivery } from '../../store/message/show-delivery.ts';
import { readDeliveryFacts } from '../../store/message/why.ts';
import { assertId } from '../operation-options.ts';
import { type BothSides, explainAcross } from '../timeline/across.ts';
import { inOrder, type TimelineEntry } from '../timeline/entry.ts';
import { groupEntries, hasTrace } from '../timeline/group-entries.ts';
import { type OtherGroup, readSides } from '../timeline/group-sides.ts';
import { lookIntoLog, type ReadLog } from '../timeline/log-entry.ts';
import { messageEntries } from '../timeline/message-entries.ts';
import { explainDelivery, type Why } from './why.ts';
import { workflowLink } from './workflow-link.ts';

/** What else to ask about a message. */
export interface ShowOptions {
  /**
   * True: looks into the log of the broker, whether the record of a published message is still there, deleted, or another one. It takes
   * seconds and reads one record, or the message's batch; a log that cannot be read, or takes longer than ten seconds, is a gap.
   * @defaultValue false
   */
  readonly log?: boolean;
}

/** Other places that may know a message. */
export interface OtherPlaces {
  /** Groups with their inbox in another database; one that does not answer within three seconds is a gap of the timeline. */
  readonly groups?: readonly OtherGroup[];
  /** Logs of brokers. @defaultValue they are not asked */
  readonly logs?: readonly ReadLog[] | undefined;
}

/** A message, what happened to it, and why it is not delivered. */
export interface MessageDetails {
  /** The message with its payload and headers; `null`: only groups know it, because its row is dropped or in another installation. */
  readonly message: ShownMessage | null;
  /** The first reason why it has no effect yet, from its row to its groups, or how it ended. */
  readonly why: Why;
  /** What happened to it here, at the broker and in its groups, earliest first, gaps included. */
  readonly timeline: readonly TimelineEntry[];
  /** Link to its workflow in the Temporal UI; `null` if no UI is known. */
  readonly workflowUrl: string | null;
  /** Consumer groups of this database that keep it, parked or failed, instead of having handled it. */
  readonly keptBy: readonly Keeper[];
  /** Where the broker has it, for messages that their lane has passed; rows with their own partition and offset contain it. */
  readonly delivery: ShownDelivery | null;
  /** Failures, and every attempt of a message with a workflow of its own; newest first. */
  readonly attempts: readonly ShownAttempt[];
  /** What operators did to it, or were refused; newest first. */
  readonly audit: readonly ShownAudit[];
}

/**
 * Everything about one message, live or archived, and what consumer groups did with it.
 *
 * @returns `undefined` if neither the outbox nor a group that answers has a message of this id
 * @throws OutboxError `OUTBOX_ID_INVALID`
 */
export async function showMessage(
  database: Database,
  id: string,
  { groups = [], logs }: OtherPlaces = {},
): Promise<MessageDetails | undefined> {
  const wanted = assertId(id);
  const inboxIds = await readInboxIds(database, wanted);
  const [own, sides, relays] = await Promise.all([
    readOwn(database, wanted, inboxIds),
    readSides(database, groups, inboxIds),
    readRelays(database),
  ]);
  const sent = own !== undefined && ['published', 'confirmed'].includes(own.message.state);
  const lags = lagsOf(relays.filter(({ alive }) => alive));
  const topic = own?.message.topic ?? null;
  const both: BothSides = { id: wanted, why: own?.why ?? null, sent, topic, sides, lags };
  const ofGroups = sides.map((side) => groupEntries(side, sent));
  if (own !== undefined) {
    const record = logs === undefined ? undefined : await lookIntoLog(logs, own);
    return {
      ...own,
      why: explainAcross(both) ?? own.why,
      timeline: inOrder([messageEntries(own, record), ...ofGroups]),
    };
  }
  const noted = sides.some((side) => side.kind === 'answered' && hasTrace(side.trace));
  const why = noted ? explainAcross(both) : null;
  if (!noted) return undefined;
  return {
    message: null,
    why: why ?? endedElsewhere,
    timeline: inOrder(ofGroups),
    workflowUrl: null,
    keptBy: await readKeepers(database, inboxIds),
    delivery: null,
    attempts: [],
    audit: [],
  };
}

const endedElsewhere: Why = {
  code: 'ended-by-group',
  text: 'The outbox has no such message; a group that had it has ended it, or dropped its id.',
};

type OwnDetails = Omit<MessageDetails, 'message' | 'timeline'> & { readonly message: ShownMessage };

/** What the outbox's database has of the message. */
async function readOwn(
  database: Database,
  id: string,
  inboxIds: readonly string[],
): Promise<OwnDetails | undefined> {
  const [message, facts, keptBy, delivery, attempts, audit, settings] = await Promise.all([
    readStoredMessage(database, id),
    readDeliveryFacts(database, id),
    readKeepers(database, inboxIds),
    readDelivery(database, id),
    readAttempts(database, id),
    readAudit(database, id),
    readSettings(database),
  ]);
  if (message === undefined || facts === undefined) return undefined;
  return {
    message,
    why: explainDelivery(facts),
    workflowUrl: workflowLink(settings, message.workflowId),
    keptBy,
    delivery: delivery ?? null,
    attempts,
    audit,
  };
}
