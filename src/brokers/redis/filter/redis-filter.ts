import type { SeenFilter } from '../../seen-filter.ts';
import type { RedisClient } from '../client/open-client.ts';
import { redisClient } from '../client/redis-package.ts';
import {
  keyPart,
  type RedisFilterOptions,
  type RedisFilterRules,
  resolveRedisFilterOptions,
} from './redis-filter-options.ts';
import { RedisSession } from './redis-session.ts';

/** Ids are kept in sets that expire as a whole; one set covers a quarter of the retention time. */
const setsPerLife = 4;
/** Larger commands would block other clients of Redis. */
const idsPerCommand = 1_000;

/**
 * Remembers processed ids in Redis 6.2 or later, for the option `filter` of a consumer, which closes it at its end: make
 * one for each. Consumers of one group share what they note by the same prefix and epoch.
 *
 * It can only save work, never lose any: ids are noted after the commit, and while Redis is away, slow, emptied or full,
 * the database answers as if there was no filter. A call is one round trip, however many ids it has. After a failure
 * Redis is left alone for 1 s, doubling to 30 s.
 *
 * **After a restore of the database from a backup** Redis remembers effects that the restore has undone, and their
 * messages would be dropped: change {@link RedisFilterOptions.epoch} before the consumers start. Nothing else is needed;
 * what was noted in the old epoch expires.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID`; `OUTBOX_PACKAGE_MISSING` without `@redis/client`
 */
export function redisFilter(options: RedisFilterOptions): SeenFilter {
  const rules = resolveRedisFilterOptions(options);
  redisClient();
  return new RedisFilter(rules);
}

class RedisFilter implements SeenFilter {
  readonly epoch: string | undefined;
  readonly #namespace: string;
  readonly #keepForMs: number;
  readonly #setForMs: number;
  readonly #session: RedisSession;

  constructor(rules: RedisFilterRules) {
    this.epoch = rules.epoch;
    this.#namespace = rules.namespace;
    this.#keepForMs = rules.keepForMs;
    this.#setForMs = Math.ceil(rules.keepForMs / setsPerLife);
    this.#session = new RedisSession(rules);
  }

  async seen(group: string, ids: readonly string[]): Promise<ReadonlySet<string>> {
    const found = new Set<string>();
    const newest = this.#setNumber(Date.now());
    const keys = Array.from({ length: setsPerLife + 1 }, (_, age) => this.#key(group, newest - age));
    const questions = chunksOf(ids).flatMap((chunk) => keys.map((key) => ({ key, chunk })));
    const answers = await this.#session.ask((redis) =>
      Promise.all(questions.map(async ({ key, chunk }) => membersOf(redis, key, chunk))),
    );
    for (const members of answers ?? []) for (const id of members) found.add(id);
    return found;
  }

  async add(group: string, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const nowMs = Date.now();
    const number = this.#setNumber(nowMs);
    const key = this.#key(group, number);
    const livesForMs = (number + 1) * this.#setForMs - nowMs + this.#keepForMs;
    await this.#session.ask(async (redis) => {
      // In one transaction, so that no set is left without an expiry.
      const both = redis.multi();
      for (const chunk of chunksOf(ids)) both.sAdd(key, [...chunk]);
      await both.pExpire(key, livesForMs).exec();
      return true;
    });
  }

  close(): Promise<void> {
    this.#session.close();
    return Promise.resolve();
  }

  /** Clock skew between consumers can only make them miss known ids: Redis alone expires a set. */
  #setNumber(nowMs: number): number {
    return Math.floor(nowMs / this.#setForMs);
  }

  /** The group is encoded, so that no other group, epoch or number results in the same key. */
  #key(group: string, number: number): string {
    return `${this.#namespace}:${keyPart(group)}:${number}`;
  }
}

async function membersOf(
  redis: RedisClient,
  key: string,
  ids: readonly string[],
): Promise<readonly string[]> {
  const answers = await redis.smIsMember(key, [...ids]);
  return ids.filter((_, index) => answers[index] === 1);
}

function chunksOf(ids: readonly string[]): readonly (readonly string[])[] {
  const chunks: (readonly string[])[] = [];
  for (let from = 0; from < ids.length; from += idsPerCommand)
    chunks.push(ids.slice(from, from + idsPerCommand));
  return chunks;
}
