import type { Hold, PublishOutcome, PublishResult } from '../brokers/transport.ts';
import { passCrashPoint } from '../core/crash-point.ts';
import { reasonOf } from '../core/reason.ts';
import type { Claim } from '../store/lane/claim.ts';
import { type ClaimedMessage, hasExpired } from '../store/lane/claimed-messages.ts';
import { spans } from '../telemetry/spans.ts';
import { outgoing } from './outgoing.ts';
import type { TopicRoute } from './topic-route.ts';

/** What became of a claimed message: the transport's answer, or `expired`: its expiry has passed, and it was not handed over. */
export type Outcome = PublishOutcome | { readonly kind: 'expired' };

/** True if the message was handed to the transport. */
export function isSent(outcome: Outcome | undefined): boolean {
  return outcome !== undefined && outcome.kind !== 'expired';
}

export interface Published {
  /** By the index of the message in the claim; `undefined`: it is blocked, and was not handed to the transport. */
  readonly outcomes: readonly (Outcome | undefined)[];
  readonly hold: Hold | undefined;
}

/** Sends the messages of a claim that are neither blocked nor expired. Never throws because of the broker. */
export async function publishBatch(
  route: TopicRoute,
  source: string,
  partitions: number,
  claim: Claim,
  signal: AbortSignal,
): Promise<Published> {
  const now = performance.now();
  const kept = claim.messages.map((message): { readonly outcome: Outcome | undefined } | undefined => {
    if (hasExpired(message, now)) return { outcome: { kind: 'expired' } };
    return message.blocked ? { outcome: undefined } : undefined;
  });
  const sendable = claim.messages.filter((_message, index) => kept[index] === undefined);
  passCrashPoint('relay:claimed');
  if (sendable.length === 0) return { outcomes: kept.map((each) => each?.outcome), hold: undefined };
  const result = await spans.publish(
    { topic: route.name, system: route.transport.name, messages: sendable },
    () => publish(route, source, partitions, sendable, signal),
    failureOf,
  );
  passCrashPoint('relay:acknowledged');
  let sent = 0;
  const outcomes = kept.map((each) =>
    each === undefined ? (result.outcomes[sent++] ?? noOutcome) : each.outcome,
  );
  return { outcomes, hold: result.hold };
}

/** The first outcome of its own that is no success; a blocked message follows from another one. */
function failureOf({ outcomes }: PublishResult): string | undefined {
  return outcomes.find(({ kind }) => kind !== 'acknowledged' && kind !== 'blocked')?.kind;
}

/** A transport that omits an outcome breaks its contract; whether it sent the message is unknown. */
const noOutcome: PublishOutcome = {
  kind: 'ambiguous',
  error: 'The transport returned no outcome for this message.',
};

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
