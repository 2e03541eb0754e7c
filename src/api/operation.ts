import { z } from 'zod';
import type { RequestOperations, RequestWay } from '../app/operations/served-operations.ts';
import { OutboxError } from '../core/errors.ts';
import type { OperationOptions } from '../operations/operation-options.ts';
import type { Caller, Role } from './authentication.ts';
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
  readonly params: z.ZodObject;
  readonly query: z.ZodObject;
  readonly body: z.ZodType | undefined;
  readonly answer: z.ZodType;
  /**
   * Checks what a request gives.
   *
   * @returns carries it out
   * @throws ZodError for what does not fit the schemas
   */
  prepare(given: RequestParts): (call: Call) => Promise<object>;
}

interface Typed<Params extends z.ZodObject, Query extends z.ZodObject, Body extends z.ZodType>
  extends Described {
  readonly params?: Params;
  readonly query?: Query;
  readonly body?: Body;
  readonly answer: z.ZodType;
  readonly run: (
    call: Call,
    given: {
      readonly path: z.output<Params>;
      readonly query: z.output<Query>;
      readonly body: z.output<Body>;
    },
  ) => Promise<object>;
}

const nothing = z.strictObject({});

/** An operation of the table, with its types checked. */
export function operation<
  Params extends z.ZodObject = typeof nothing,
  Query extends z.ZodObject = typeof nothing,
  Body extends z.ZodType = z.ZodUndefined,
>({ run, ...typed }: Typed<Params, Query, Body>): Operation {
  const { body, params = nothing, query = nothing } = typed;
  return {
    ...typed,
    params,
    query,
    body,
    prepare(given) {
      assertKnown('query parameter', query, given.query);
      if (body !== undefined) assertKnown('field', body, given.body);
      const checked = {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema of these very types has parsed it
        path: params.parse(given.path) as z.output<Params>,
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
        query: query.parse(given.query) as z.output<Query>,
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
        body: (body ?? z.undefined()).parse(given.body) as z.output<Body>,
      };
      return (call) => run(call, checked);
    },
  };
}

/** Names what there is: a schema's error does not quote a misspelt name. @throws OutboxError `OUTBOX_REQUEST_INVALID` */
function assertKnown(kind: string, schema: z.ZodType, given: unknown): void {
  if (!(schema instanceof z.ZodObject) || typeof given !== 'object' || given === null || Array.isArray(given))
    return;
  const known = Object.keys(schema.shape);
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const among = known.length === 0 ? 'there is none' : `there are ${known.join(', ')}`;
  throw new OutboxError(
    'OUTBOX_REQUEST_INVALID',
    `There is no ${kind} ${JSON.stringify(unknown.slice(0, 100))}: ${among}.`,
  );
}
