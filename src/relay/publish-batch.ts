import { passCrashPoint } from '../core/crash-point.ts';
import { reasonOf } from '../core/reason.ts';
import type { Claim, ClaimedMessage } from '../store/lane/claim.ts';
import type { Hold, PublishOutcome, PublishResult } from '../transports/transport.ts';
import { outgoing } from './outgoing.ts';
import type { TopicRoute } from './topic-route.ts';

export interface Published {
  /** Outcomes by message id, of all messages that were handed to the transport. */
  readonly outcomes: ReadonlyMap<string, PublishOutcome>;
  readonly hold: Hold | undefined;
}

/** Sends the messages of a claim that are not blocked. Never throws because of the broker. */
export async function publishBatch(
  route: TopicRoute,
  source: string,
  partitions: number,
  claim: Claim,
  signal: AbortSignal,
): Promise<Published> {
  const sendable = claim.messages.filter((message) => !message.blocked);
  passCrashPoint('relay:claimed');
  if (sendable.length === 0) return { outcomes: new Map(), hold: undefined };
  const result = await publish(route, source, partitions, sendable, signal);
  passCrashPoint('relay:acknowledged');
  const outcomes = new Map<string, PublishOutcome>();
  for (const [index, message] of sendable.entries()) {
    // A transport that omits an outcome breaks its contract; whether it sent the message is unknown.
    outcomes.set(
      message.id,
      result.outcomes[index] ?? {
        kind: 'ambiguous',
        error: 'The transport returned no outcome for this message.',
      },
    );
  }
  return { outcomes, hold: result.hold };
}

async function publish(
  route: TopicRoute,
  source: string,
  partitions: number,
  messages: readonly ClaimedMessage[],
  signal: AbortSignal,
): Promise<PublishResult> {
  try {
    return await route.transport.publish({
      address: route.rules.address,
      partitions,
      messages: messages.map((message) => outgoing(route.name, source, message)),
      signal,
    });
  } catch (error) {
    // A transport must not throw. If it does, it may have sent anything: hold the lane and give the reason.
    const reason = reasonOf(error);
    return {
      outcomes: messages.map(() => ({ kind: 'deferred', onWire: true })),
      hold: { scope: 'topic', reason },
    };
  }
}
