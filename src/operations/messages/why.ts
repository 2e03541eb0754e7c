import { countLimit, type DeliveryFacts } from '../../store/message/why.ts';

/** Why a message is not delivered, or that it was. */
export interface Why {
  /** For programs. */
  readonly code:
    | 'archived'
    | 'behind-key'
    | 'canceled'
    | 'confirmed'
    | 'discarded'
    | 'due-later'
    | 'ended-by-group'
    | 'expired'
    | 'failed'
    | 'group-away'
    | 'group-behind'
    | 'handled'
    | 'kept-by-group'
    | 'lane-hold'
    | 'lanes-changing'
    | 'next'
    | 'no-relay'
    | 'overdue'
    | 'published'
    | 'queued'
    | 'rate'
    | 'retrying'
    | 'superseded'
    | 'topic-paused'
    | 'topic-unknown'
    | 'transport-paused'
    | 'unconfirmed';
  /** For people, one sentence or two. */
  readonly text: string;
  /** What to do or to ask next; missing if there is nothing to do, or the text says it. */
  readonly next?: string;
}

/** Explains the state of a message. The first obstacle wins: a pause, that no relay runs, a hold, a queue. */
export function explainDelivery(facts: DeliveryFacts): Why {
  if (facts.archived && facts.state !== 'failed')
    return { code: 'archived', text: `It ended as ${facts.state} and is in the history.` };
  switch (facts.state) {
    case 'waiting':
      return waiting(facts);
    case 'retrying':
      return retrying(facts);
    case 'blocked':
    case 'ready':
      return obstacle(facts);
    case 'failed':
      return {
        code: 'failed',
        text: `It failed: ${(facts.lastError ?? 'without a reason').replace(/\.$/, '')}. Retry, edit or discard it.`,
      };
    case 'published':
      return facts.confirmBy === null
        ? { code: 'published', text: 'It is published.' }
        : {
            code: 'unconfirmed',
            text: `It is published; its consumer's receipt is expected by ${facts.confirmBy.toISOString()}.`,
          };
    case 'confirmed':
      return { code: 'confirmed', text: 'It is published, and its consumer has confirmed it.' };
    case 'canceled':
      return { code: 'canceled', text: 'It was canceled and will not be published.' };
    case 'superseded':
      return {
        code: 'superseded',
        text: `It was edited and replaced by ${facts.supersededBy ?? 'a copy'}.`,
      };
    case 'discarded':
      return { code: 'discarded', text: 'It failed, and an operator discarded it.' };
    case 'expired':
      return expired(facts);
  }
}

/** Before its lane sends it; the first one wins. */
function obstacle(facts: DeliveryFacts): Why {
  return (
    stopped(facts) ?? unattended(facts) ?? held(facts) ?? blocked(facts) ?? limited(facts) ?? queued(facts)
  );
}

function expired({ expiresAt, maybePublished }: DeliveryFacts): Why {
  const doubt = maybePublished ? '; an earlier try may have published it' : '';
  return { code: 'expired', text: `It expired at ${expiresAt?.toISOString()} and is not sent${doubt}.` };
}

function waiting(facts: DeliveryFacts): Why {
  const { dueInMs, dueAt } = facts;
  if (dueInMs !== null && dueInMs > 0)
    return { code: 'due-later', text: `It is due in ${length(dueInMs)}, at ${dueAt?.toISOString()}.` };
  const since = length(-(dueInMs ?? 0));
  return facts.relays === 0
    ? { code: 'no-relay', text: `It has been due for ${since}. ${noRelay}` }
    : { code: 'overdue', text: `It has been due for ${since}; no relay has released it.` };
}

function retrying({ dueInMs, dueAt, lastError, relays }: DeliveryFacts): Why {
  const why = lastError ?? 'without a reason';
  if (dueInMs !== null && dueInMs > 0)
    return {
      code: 'retrying',
      text: `Its last try failed (${why}); the next is in ${length(dueInMs)}, at ${dueAt?.toISOString()}.`,
    };
  const late = `Its last try failed (${why}); the next has been due for ${length(-(dueInMs ?? 0))}.`;
  return relays === 0 ? { code: 'no-relay', text: `${late} ${noRelay}` } : { code: 'overdue', text: late };
}

/** What operators have stopped. */
function stopped(facts: DeliveryFacts): Why | undefined {
  const { topic, transport } = facts;
  if (facts.topicPaused) return { code: 'topic-paused', text: `The topic "${topic}" is paused.` };
  if (facts.transportPaused)
    return { code: 'transport-paused', text: `The transport "${transport}" is paused.` };
  if (facts.changing)
    return {
      code: 'lanes-changing',
      text: `The lanes or partitions of the topic "${topic}" are being changed.`,
    };
  return undefined;
}

const noRelay = 'No relay is running: start one.';

/** Without a relay nobody asks the broker: a hold says how it was, not how it is. */
function unattended(facts: DeliveryFacts): Why | undefined {
  const { blocker, owned, relays, state } = facts;
  if (owned || relays > 0) return undefined;
  return state === 'blocked' && blocker !== null ? blocked(facts) : { code: 'no-relay', text: noRelay };
}

/** What stops the whole lane, as its relays see it. */
function held({ hold, topic, topicKnown }: DeliveryFacts): Why | undefined {
  if (!topicKnown)
    return {
      code: 'topic-unknown',
      text: `No relay has announced the topic "${topic}": add it to \`topics\` of the relay's configuration.`,
    };
  if (hold !== null) {
    const what =
      hold.scope === 'settle'
        ? 'The database refuses the writes of its lane'
        : `Its ${hold.scope} cannot be reached`;
    return { code: 'lane-hold', text: `${what} since ${hold.since.toISOString()}: ${hold.reason}.` };
  }
  return undefined;
}

function blocked({ blocker, key, state }: DeliveryFacts): Why | undefined {
  if (blocker !== null) {
    return {
      code: 'behind-key',
      text: `Message ${blocker.id} of the key "${key}" comes first, and is ${blocker.state}.`,
    };
  }
  return state === 'blocked'
    ? { code: 'behind-key', text: `Its key "${key}" is free again; its lane delivers it next.` }
    : undefined;
}

/** Only where a relay would send it otherwise. */
function limited({ before, owned, rate, topic }: DeliveryFacts): Why | undefined {
  if (!owned || rate === null || rate.waitMs === 0) return undefined;
  const { messages, perMs, waitMs } = rate;
  const first = before === 0 ? '' : `, ${counted(before)} of its lane before it`;
  return {
    code: 'rate',
    text: `It waits for the rate of the topic "${topic}", ${messages} per ${length(perMs)}: the next message goes in ${length(waitMs)}${first}.`,
  };
}

function queued({ owned, wantedSince, before }: DeliveryFacts): Why {
  if (!owned) {
    const since = wantedSince === null ? '' : `, which has waited for one since ${wantedSince.toISOString()}`;
    return { code: 'no-relay', text: `No relay drains its lane at the moment${since}.` };
  }
  if (before === 0) return { code: 'next', text: 'Its lane is about to publish it.' };
  return {
    code: 'queued',
    text: `${counted(before)} of its lane ${before === 1 ? 'goes' : 'go'} first.`,
  };
}

function counted(messages: number): string {
  if (messages === 1) return '1 message';
  return `${messages >= countLimit ? `${countLimit} or more` : messages} messages`;
}

/** At most two units, never rounded down to nothing. */
export function length(ms: number): string {
  if (ms < 1_000) return `${Math.max(1, Math.round(ms))} ms`;
  const seconds = Math.round(ms / 1_000);
  const [days, hours, minutes] = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3_600) % 24,
    Math.floor(seconds / 60) % 60,
  ];
  if (days > 0) return `${days} d ${hours} h`;
  if (hours > 0) return `${hours} h ${minutes} min`;
  return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
}
