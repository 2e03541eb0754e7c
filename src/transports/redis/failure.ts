import type { Hold, PublishOutcome } from '../transport.ts';

/** What a refusal of Redis means: nothing more can be sent for now, or one message is to blame. */
export type RedisFailure =
  | { readonly kind: 'hold'; readonly hold: Hold }
  | {
      readonly kind: 'outcome';
      readonly outcome: Extract<PublishOutcome, { readonly kind: 'permanent' | 'ambiguous' }>;
    };

/**
 * What must end before anything is sent again, by the code with which the answer begins.
 *
 * Redis checks all of these before it executes a command, so nothing was stored.
 */
export const redisAnswers: Readonly<Record<string, Hold['scope']>> = {
  /** This server has a part of a cluster only, and the address is in another one. */
  ASK: 'transport',
  BUSY: 'transport',
  CLUSTERDOWN: 'transport',
  CROSSSLOT: 'transport',
  /** It lets in connections from its own machine only. */
  DENIED: 'transport',
  LOADING: 'transport',
  MASTERDOWN: 'transport',
  /** It cannot write to its disk. */
  MISCONF: 'transport',
  MOVED: 'transport',
  NOAUTH: 'transport',
  NOPERM: 'topic',
  /** `min-replicas-to-write` of the server. */
  NOREPLICAS: 'transport',
  OOM: 'transport',
  READONLY: 'transport',
  TRYAGAIN: 'transport',
  WRONGPASS: 'transport',
  /** The address holds something else. */
  WRONGTYPE: 'topic',
};

/** Answers with the code `ERR`, by their words. */
const redisTexts: readonly (readonly [words: RegExp, meaning: Hold['scope'] | 'permanent'])[] = [
  [/^max number of clients reached/, 'transport'],
  [/^The stream has exhausted the last possible ID/, 'topic'],
  [/^Elements are too large to be stored/, 'permanent'],
  [/^string exceeds maximum allowed size/, 'permanent'],
  [/^unknown command/, 'transport'],
];

/**
 * Says what a refusal means.
 *
 * One that is not listed may be that of a proxy, which knows what it was told and not what the server did: `ambiguous`.
 */
export function meaningOf(answer: string): RedisFailure {
  const text = plain(answer);
  const [code = ''] = text.split(' ', 1);
  const words = code === 'ERR' ? text.slice(4) : text;
  const meaning = redisAnswers[code] ?? redisTexts.find(([known]) => known.test(words))?.[1];
  if (meaning === undefined) return { kind: 'outcome', outcome: { kind: 'ambiguous', error: text } };
  if (meaning === 'permanent') return { kind: 'outcome', outcome: { kind: 'permanent', error: text } };
  return { kind: 'hold', hold: { scope: meaning, reason: text } };
}

/**
 * The answer without what a script adds to it. Before Redis 7, a command that a script may not run is refused without a
 * code.
 */
function plain(answer: string): string {
  const text = answer.replace(/^-?(?:ERR )?@user_script: ?\d+: ?-?/, '').replace(/^-/, '');
  return /^(?:ERR )?The user executing the script can't/.test(text) ? `NOPERM ${text}` : text;
}
