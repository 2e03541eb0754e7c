import type { Database } from '../store/database/database.ts';
import { readSettings } from '../store/installation/settings.ts';
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
  /** Why it is not delivered, or what became of it. */
  readonly why: Why;
  /** Where the Temporal UI shows its workflow; null where no UI is known. */
  readonly workflowUrl: string | null;
  /** Where a broker has it, for messages that their lanes have passed; rows with their own partition and offset say it themselves. */
  readonly delivery: ShownDelivery | null;
  /** Failures, and every attempt of a message with a workflow of its own; the newest first. */
  readonly attempts: readonly ShownAttempt[];
  /** What operators did to it, and were refused; the newest first. */
  readonly audit: readonly ShownAudit[];
}

/**
 * Tells everything about one message, live or archived.
 *
 * @returns undefined when there is none of this id
 * @throws OutboxError `OUTBOX_ID_INVALID`
 */
export async function showMessage(database: Database, id: string): Promise<MessageDetails | undefined> {
  const wanted = assertId(id);
  const [message, facts, delivery, attempts, audit, settings] = await Promise.all([
    readStoredMessage(database, wanted),
    readDeliveryFacts(database, wanted),
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
    delivery: delivery ?? null,
    attempts,
    audit,
  };
}
