import { type Diagnosis, type DoctorCheck, fine, problem, warning } from '../../../core/diagnosis.ts';
import type { RedisDurability } from '../client/durability.ts';

/** What decides how much a server of Redis keeps. */
export interface RedisFacts extends RedisDurability {
  /** `host:port` */
  readonly endpoint: string;
}

/** What a server of Redis keeps of the messages that it has acknowledged. */
export const redisChecks: readonly DoctorCheck<RedisFacts>[] = [
  { check: 'redis persistence', judge: judgePersistence },
  { check: 'redis eviction', judge: judgeEviction },
];

function judgePersistence({ appendFsync, appendOnly, endpoint }: RedisFacts): Diagnosis | undefined {
  if (appendOnly === undefined) return undefined;
  if (!appendOnly)
    return warning(
      `Redis at ${endpoint} has no append-only file: if its process ends, the messages since its last snapshot are lost, although they were acknowledged.`,
      'CONFIG SET appendonly yes and CONFIG SET appendfsync always, and the same in redis.conf',
    );
  if (appendFsync === undefined || appendFsync === 'always')
    return fine('Acknowledged messages are in its append-only file.');
  return warning(
    `appendfsync of Redis at ${endpoint} is ${appendFsync}: a crash of its machine loses acknowledged messages, ${appendFsync === 'everysec' ? 'those of a second or two' : 'as many as the system has not written'}.`,
    'CONFIG SET appendfsync always, and the same in redis.conf',
  );
}

function judgeEviction({ endpoint, eviction, maxMemory }: RedisFacts): Diagnosis | undefined {
  if (eviction === undefined) return undefined;
  const what = `maxmemory-policy of Redis at ${endpoint} is ${eviction}: when its memory is full, it deletes`;
  const next = 'CONFIG SET maxmemory-policy noeviction, and the same in redis.conf';
  // Without a limit nothing is deleted, until somebody sets one.
  if (eviction === 'noeviction' || maxMemory === 0) return fine('It deletes no message to free memory.');
  return eviction.startsWith('volatile-')
    ? warning(`${what} the leases of readers.`, next)
    : problem(`${what} streams and lists with their messages.`, next);
}
