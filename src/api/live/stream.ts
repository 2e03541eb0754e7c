import type { ServedOperations, Sight } from '../../app/operations/served-operations.ts';
import type { Inputs } from '../../operations/inputs/values.ts';
import type { AnswerName } from '../answers.ts';
import type { Described } from '../operation.ts';
import type { Scope } from '../scope.ts';
import type { EventSink } from './event-stream.ts';
import type { LiveStatus } from './live-status.ts';

/** What a stream may use. */
export interface StreamCall {
  readonly live: LiveStatus;
  readonly served: ServedOperations;
  readonly sight: Sight;
  readonly sink: EventSink;
}

/** What a request for a stream gives. */
export interface StreamRequest {
  readonly query: unknown;
  readonly scope: Scope;
  /** `Last-Event-ID`. */
  readonly lastId: string | undefined;
}

/** An operation whose answer goes on, as server-sent events. */
export interface Stream extends Pick<Described, 'name' | 'path' | 'summary' | 'role' | 'payloads'> {
  readonly query: Inputs;
  /** The data of each event, by its name. */
  readonly events: Readonly<Record<string, AnswerName>>;
  /** True: a client that sends `Last-Event-ID` gets what changed since. */
  readonly continued?: true;
  /**
   * Checks what a request gives.
   *
   * @returns begins to send, and returns what ends that
   * @throws Denied, OutboxError `OUTBOX_REQUEST_INVALID`
   */
  prepare(given: StreamRequest): (call: StreamCall) => () => void;
}
