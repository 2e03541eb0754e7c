import type { RequestOperations, RequestWay } from '../app/operations/served-operations.ts';
import type { SparseTable } from '../core/options/collections.ts';
import type { Inputs } from '../operations/inputs/values.ts';
import type { OperationOptions } from '../operations/operation-options.ts';
import type { AnswerName, Answers } from './answers.ts';
import type { Caller, Role } from './authentication.ts';
import { noInputs, ofTexts, readInputs } from './read-inputs.ts';
import type { Scope } from './scope.ts';

/** What an operation may use. */
export interface Call {
  readonly at: RequestOperations;
  readonly caller: Caller;
  readonly scope: Scope;
  /** `If-Match`, without quotes. @throws OutboxError `OUTBOX_REQUEST_INVALID` if it is no version */
  readonly version: () => string | undefined;
  /** The audit's author, with what the body says about reason and rehearsal. */
  readonly author: (body: AuthoredBody) => OperationOptions;
}

/** What every change may be given. */
export interface AuthoredBody {
  readonly reason?: string;
  readonly dryRun?: boolean;
}

/** What a request gives, before and after it is checked. */
export interface RequestParts {
  readonly path: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

/** How an answer is written. */
export interface Described {
  /** A verb and its object, unique. */
  readonly name: string;
  readonly method: 'GET' | 'POST';
  /** With parameters as `{id}`. */
  readonly path: string;
  /** One sentence for people. */
  readonly summary: string;
  /** The least role. */
  readonly role: Role;
  /** True: also needs the right to read payloads. */
  readonly payloads?: true;
  /** True: only for callers that are not limited to topics. */
  readonly allTopics?: true;
  readonly way: RequestWay;
  /** True: the answer to a repeat with the same `Idempotency-Key` is the first answer. */
  readonly once?: true;
  /** Whether the answer says that there is more to wait for: then a repeat with the same `Idempotency-Key` goes on. */
  readonly unfinished?: (answer: object) => boolean;
  /** True: the answer has the header `ETag`, for `If-Match` of an edit. */
  readonly versioned?: true;
  /** True: it heeds the header `If-Match`. */
  readonly conditional?: true;
  /** The greatest body, in bytes. @defaultValue 65,536 */
  readonly bodyBytes?: number;
}

/** One operation of the API: everything else is made of these. */
export interface Operation extends Described {
  readonly params: Inputs;
  readonly query: Inputs;
  readonly body: Inputs | undefined;
  /** What it answers, as JSON. */
  readonly answer: AnswerName;
  /**
   * Checks what a request gives.
   *
   * @returns carries it out
   * @throws OutboxError `OUTBOX_REQUEST_INVALID`
   */
  prepare(given: RequestParts): (call: Call) => Promise<object>;
}

interface Typed<Params extends Inputs, Query extends Inputs, Body extends Inputs, Name extends AnswerName>
  extends Described {
  readonly params?: Params;
  readonly query?: Query;
  readonly body?: Body;
  readonly answer: Name;
  readonly run: (
    call: Call,
    given: {
      readonly path: SparseTable<Params>;
      readonly query: SparseTable<Query>;
      readonly body: SparseTable<Body>;
    },
  ) => Promise<Answers[Name]>;
}

/** An operation of the table, with its types checked. */
export function operation<
  Name extends AnswerName,
  Params extends Inputs = typeof noInputs,
  Query extends Inputs = typeof noInputs,
  Body extends Inputs = typeof noInputs,
>({ body, params, query, run, ...described }: Typed<Params, Query, Body, Name>): Operation {
  const queryTexts = query && ofTexts(query);
  return {
    ...described,
    params: params ?? noInputs,
    query: query ?? noInputs,
    body,
    prepare(given) {
      const checked = {
        path: readInputs('parameter', params, given.path),
        query: readInputs('query parameter', queryTexts, given.query),
        body: readInputs('field', body, body === undefined ? {} : given.body),
      };
      return (call) => run(call, checked);
    },
  };
}
