import type { Database } from '../store/database/database.ts';
import { readSettings } from '../store/installation/settings.ts';
import { type Keeper, readKeepers } from '../store/message/keepers.ts';
import {
  readAttempts,
  readAudit,
  readStoredMessage,
  type ShownAttempt,
  type ShownAudit,
  type ShownMessage,
} from '../store/message/show.ts';
import { readDelivery, type ShownDelivery } from '../store/message/show-delivery.ts';
import { readDeliveryFacts } from '../store/message/why.ts';
import { assertId } from './operation-options.ts';
import { explainDelivery, type Why } from './why.ts';
import { workflowLink } from './workflow-link.ts';

/** A message, what happened to it, and why it is not delivered. */
export interface MessageDetails {
  /** The message with its payload and headers. */
  readonly message: ShownMessage;
  /** Why it is not delivered, or how it ended. */
  readonly why: Why;
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
 * Everything about one message, live or archived.
 *
 * @returns `undefined` if no message has this id
 * @throws OutboxError `OUTBOX_ID_INVALID`
 */
export async function showMessage(database: Database, id: string): Promise<MessageDetails | undefined> {
  const wanted = assertId(id);
  const [message, facts, keptBy, delivery, attempts, audit, settings] = await Promise.all([
    readStoredMessage(database, wanted),
    readDeliveryFacts(database, wanted),
    readKeepers(database, wanted),
    readDelivery(database, wanted),
    readAttempts(database, wanted),
    readAudit(database, wanted),
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
