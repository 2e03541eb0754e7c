import { type OnFailed, send } from 'temporal-outbox';
import { personTold } from './topics.ts';

/** Sends a message in the transaction that notes the call: of each failure one, whatever crashes. */
export const tellPerson: OnFailed = async (tx, { id, topic, error }) => {
  // What fails to tell of a failure is not told by another message.
  if (topic !== personTold.name) await send(tx, personTold, { failedId: id, error });
};
