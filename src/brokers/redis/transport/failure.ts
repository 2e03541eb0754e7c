import { withoutSecrets } from '../../../core/secrets.ts';
import type { Hold, PublishOutcome } from '../../transport.ts';

/** What an error reply of Redis means: nothing more can be sent for now, or one message caused it. */
export type RedisFailure =
  | { readonly kind: 'hold'; readonly hold: Hold }
  | {
      readonly kind: 'outcome';
      readonly outcome: Extract<PublishOutcome, { readonly kind: 'permanent' | 'ambiguous' }>;
    };

/**
 * The scope of the hold for each error code at the start of a reply.
 *
 * Redis checks all of these before it executes a command, so nothing was stored.
 */
export const redisAnswers: Readonly<Record<string, Hold['scope']>> = {
  /** The server is a cluster node, and another node has the slot of this address. */
  ASK: 'transport',
  BUSY: 'transport',
  CLUSTERDOWN: 'transport',
  CROSSSLOT: 'transport',
  /** Protected mode: only connections from localhost are accepted. */
  DENIED: 'transport',
  LOADING: 'transport',
  MASTERDOWN: 'transport',
  /** The server cannot write to its disk. */
  MISCONF: 'transport',
  MOVED: 'transport',
  NOAUTH: 'transport',
  NOPERM: 'topic',
  /** Fewer replicas than `min-replicas-to-write`. */
  NOREPLICAS: 'transport',
  OOM: 'transport',
  READONLY: 'transport',
  TRYAGAIN: 'transport',
  WRONGPASS: 'transport',
  /** The key holds a value of another type. */
  WRONGTYPE: 'topic',
};

/** Replies with the generic code `ERR`, by their text. */
const redisTexts: readonly (readonly [words: RegExp, meaning: Hold['scope'] | 'permanent'])[] = [
  [/^max number of clients reached/, 'transport'],
  [/^The stream has exhausted the last possible ID/, 'topic'],
  [/^Elements are too large to be stored/, 'permanent'],
  [/^string exceeds maximum allowed size/, 'permanent'],
  [/^unknown command/, 'transport'],
];

/**
 * Classifies an error reply.
 *
 * An unlisted reply may come from a proxy, which does not know what the server did: `ambiguous`.
 */
export function meaningOf(answer: string): RedisFailure {
  const text = withoutSecrets(plain(answer));
  const [code = ''] = text.split(' ', 1);
  const words = code === 'ERR' ? text.slice(4) : text;
  const meaning = redisAnswers[code] ?? redisTexts.find(([known]) => known.test(words))?.[1];
  if (meaning === undefined) return { kind: 'outcome', outcome: { kind: 'ambiguous', error: text } };
  if (meaning === 'permanent') return { kind: 'outcome', outcome: { kind: 'permanent', error: text } };
  return { kind: 'hold', hold: { scope: meaning, reason: text } };
}

/**
 * The reply without the prefix and the line end that scripts add, and without the arguments of a command that is not known: they have
 * the message, and whoever sees the address sees why it waits. Before Redis 7, a script's refusal of a command that
 * the user may not run has no code.
 */
function plain(answer: string): string {
  const text = answer
    .replace(/^-?(?:ERR )?@user_script: ?\d+: ?-?/, '')
    .replace(/^-/, '')
    .replace(/, with args beginning with: .*$/s, '')
    .trimEnd();
  return /^(?:ERR )?The user executing the script can't/.test(text) ? `NOPERM ${text}` : text;
}
