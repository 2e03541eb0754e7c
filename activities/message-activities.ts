import type { Relay } from '../src/relay/relay.ts';
import type { ReleaseAnswer } from '../src/store/message/release.ts';

/** Activities of the messages' task queue. */
export interface MessageActivities {
  /** Makes a due message ready and waits up to a second for its outcome. */
  releaseMessage(id: string): Promise<ReleaseAnswer>;
  /** Cancels the message, because its workflow was canceled. */
  cancelMessage(id: string): Promise<'canceled' | 'too-late' | 'unknown'>;
}

export function createMessageActivities(relay: Pick<Relay, 'release' | 'cancel'>): MessageActivities {
  return {
    releaseMessage: (id) => relay.release(id),
    cancelMessage: (id) => relay.cancel(id, 'temporal-ui'),
  };
}
