import type { Duration } from '../../../core/duration.ts';
import type { Table } from '../../../core/options/collections.ts';
import { optionTable } from '../../../core/options/option-table.ts';
import { duration, func, optional, text } from '../../../core/options/values.ts';
import {
  type RedisServer,
  type RedisServerOptions,
  redisServer,
  serverOptions,
} from '../client/redis-server.ts';

/** What a filter tells about its server. Nothing depends on anybody listening. */
export type RedisFilterEvent =
  /** It does not answer, or too late: until it is back, the database answers alone. Told once. */
  | { readonly type: 'redis-away'; readonly error: unknown; readonly retryInMs: number }
  /** It answers again. */
  | { readonly type: 'redis-back'; readonly awayMs: number };

/** Listens to a filter; what it throws is dropped. */
export type RedisFilterReport = (event: RedisFilterEvent) => void;

/** How ids are noted in Redis. What is given as a function is asked at once, too. */
export interface RedisFilterOptions extends RedisServerOptions {
  /** Begins every key. @defaultValue `temporal-outbox:seen` */
  readonly prefix?: string;
  /**
   * Part of every key. Change it to start afresh, in all consumers at once: after the database was restored from a
   * backup, and after processed ids were deleted so that messages are handled again. Where the database does not tell of a
   * restore, as on Aurora, a consumer asks for one. @defaultValue `1`
   */
  readonly epoch?: string;
  /**
   * How long an id is remembered at least, from 1 s; it is forgotten after 1¼ of it. Each id takes about 100 bytes of
   * Redis' memory meanwhile. @defaultValue 1 day
   */
  readonly keepFor?: Duration;
  /** After this long without an answer the database is asked instead; up to 10 s. @defaultValue 50 ms */
  readonly requestTimeout?: Duration;
  /** Told when Redis goes away and comes back. */
  readonly report?: RedisFilterReport;
}

/** Options with every default filled in. */
export interface RedisFilterRules {
  readonly server: RedisServer;
  /** Prefix and epoch, written so that no two pairs are alike. */
  readonly namespace: string;
  /** As it was given. */
  readonly epoch: string | undefined;
  readonly keepForMs: number;
  readonly requestTimeoutMs: number;
  readonly report: RedisFilterReport;
}

const filterOptions = optionTable('redisFilter()', {
  ...serverOptions,
  prefix: text('temporal-outbox:seen'),
  epoch: optional(text()),
  keepFor: duration('1s', '400 days', '1 day'),
  requestTimeout: duration('1ms', '10s', '50ms'),
  report: optional(func<RedisFilterReport>()),
} satisfies Table<RedisFilterOptions>);

/** @throws OutboxError `OUTBOX_OPTION_INVALID`; the address is not repeated in it, because it may hold a password */
export function resolveRedisFilterOptions(options: RedisFilterOptions): RedisFilterRules {
  const { epoch, keepFor, prefix, report, requestTimeout, server } = redisServer(filterOptions, options);
  // A missing environment variable is reported now, not at the first message.
  void server.target;
  return {
    server,
    namespace: `${prefix}:${keyPart(epoch ?? '1')}`,
    epoch,
    keepForMs: keepFor,
    requestTimeoutMs: requestTimeout,
    report: undisturbed(report),
  };
}

/** Encodes a text as a part of a key, without colons. Buffer replaces lone surrogates, on which the encoding throws. */
export function keyPart(part: string): string {
  return encodeURIComponent(Buffer.from(part).toString());
}

function undisturbed(report: RedisFilterReport | undefined): RedisFilterReport {
  if (report === undefined) return () => undefined;
  return (event) => {
    try {
      report(event);
    } catch {
      // A listener that throws must not stop messages.
    }
  };
}
