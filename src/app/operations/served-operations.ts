import {
  lookAgain,
  type TailOptions,
  type TailPlace,
  type TailStep,
} from '../../operations/messages/tail.ts';
import { type AuditEntry, writeAudit } from '../../store/audit/audit.ts';
import type { Database } from '../../store/database/database.ts';
import { untoldRows, withUntoldErrors } from '../../store/database/untold-errors.ts';
import { type OperatorDatabase, operatorDatabase } from '../../store/database/visit.ts';
import { tookTooLong, withLimits } from '../../store/database/with-limits.ts';
import { withinOne } from '../../store/database/within-one.ts';
import type { MessageFilter } from '../../store/message/list.ts';
import { readKeptTopicsOf, readTopicsOf } from '../../store/message/topics-of.ts';
import type { RepeatableRequest, StoredAnswer } from '../../store/request/request.ts';
import { answerOnce, type GivenAnswer } from './answer-once.ts';
import { addressOf, type Operations, type OperationsConfig, operationsOn } from './operations.ts';

export type { AuditEntry, GivenAnswer, MessageFilter, RepeatableRequest, StoredAnswer, TailPlace };

/** The operations within one request. */
export interface RequestOperations extends Omit<Operations, 'close'> {
  /** Topics of messages by id, without unknown ones. */
  topicsOf(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** The same for messages that a group keeps. */
  keptTopicsOf(group: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Writes an entry of the audit, in the transaction of the request if it has one. */
  note(entry: AuditEntry): Promise<void>;
}

/**
 * - `read`: one transaction, in which the server refuses every write.
 * - `change`: one transaction, with everything that belongs to it.
 * - `wait`: as many as it needs, because it waits for relays. What it does may be repeated.
 * - `long`: the same, for statements that may take as long as the tables are large.
 */
export type RequestWay = 'read' | 'change' | 'wait' | 'long';

/** What a reader may see. */
export interface Sight {
  /** True: also texts of errors, which may quote payloads. @defaultValue false: only their class */
  readonly payloads?: boolean;
}

/** The operations for a server of many callers: bounded, and with answers that are given once. */
export interface ServedOperations {
  /** @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE` also for a statement that took too long */
  run<Result>(
    way: RequestWay,
    work: (at: RequestOperations) => Promise<Result>,
    sight?: Sight,
  ): Promise<Result>;
  /**
   * The answer of the first such request, which is awaited; if there was none, that of `work`, stored in the transaction of what it
   * changes. One that waits is answered again if its process ended before its answer was stored, or if that was unfinished.
   *
   * @throws OutboxError `OUTBOX_REQUEST_REPEATED` if the key was used for another request, `OUTBOX_REQUEST_LIMITED` if the first is
   * being answered for long
   */
  once(
    request: RepeatableRequest,
    way: RequestWay,
    work: (at: RequestOperations) => Promise<GivenAnswer>,
    sight?: Sight,
  ): Promise<StoredAnswer>;
  /** Follows messages; each look is a read of its own. Rejects like `run`. */
  follow(
    filter: MessageFilter,
    options: TailOptions,
    from?: TailPlace,
    sight?: Sight,
  ): AsyncIterable<TailStep>;
  close(): Promise<void>;
}

/** The server ends statements that take longer. A bulk operation counts for ten seconds. */
const usualMs = { read: 5_000, change: 15_000 };

/** Opens them; connections are opened when first needed. */
export function servedOperations(config: OperationsConfig, statementMs = usualMs): ServedOperations {
  let opened: OperatorDatabase | undefined;
  const on = <Result>(work: (database: Database) => Promise<Result>): Promise<Result> => {
    opened ??= operatorDatabase(addressOf(config));
    return opened.on(work).catch((error: unknown) => {
      throw tookTooLong(error) ?? error;
    });
  };
  const within = <Result>(way: RequestWay, work: (at: Database) => Promise<Result>): Promise<Result> =>
    on((database) =>
      way === 'wait' || way === 'long'
        ? work(
            withLimits(database, {
              lockMs: statementMs.change,
              ...(way === 'wait' && { statementMs: statementMs.change }),
            }),
          )
        : withinOne(database, { readOnly: way === 'read', statementMs: statementMs[way] }, work),
    );
  return {
    run: (way, work, sight) => within(way, (at) => work(operationsAt(at, config, sight))),
    once: (request, way, work, sight) =>
      within(way, (at) =>
        answerOnce(at, request, statementMs.change, () => work(operationsAt(at, config, sight))),
      ),
    follow: (filter, options, from, sight) =>
      lookAgain((work) => within('read', (at) => work(seenBy(at, sight))), filter, options, from),
    close: async () => opened?.close(),
  };
}

function seenBy(at: Database, { payloads = false }: Sight = {}): Database {
  return payloads ? at : withUntoldErrors(at);
}

function operationsAt(stored: Database, config: OperationsConfig, sight?: Sight): RequestOperations {
  const at = seenBy(stored, sight);
  return {
    ...operationsOn((work) => work(at), config, sight?.payloads === true ? undefined : untoldRows),
    topicsOf: (ids) => readTopicsOf(at, ids),
    keptTopicsOf: (group, ids) => readKeptTopicsOf(at, group, ids),
    note: async (entry) => void (await writeAudit(at, [entry])),
  };
}
