import { z } from 'zod';
import { errorRules } from '../core/errors.ts';
import type { Stream } from './live/stream.ts';
import type { Operation } from './operation.ts';
import { problemType } from './problem.ts';
import { neededRights, rightsInWords, security, securitySchemes } from './proofs-described.ts';
import { components } from './schemas/values.ts';

type Json = Readonly<Record<string, unknown>>;

const about =
  'What an operator may do, over HTTP. A change needs the header `Content-Type: application/json`, and without a bearer token also `Origin` with the address of the API.';

/** The OpenAPI 3.1 document of the operations and streams. */
export function openApiOf(table: readonly Operation[], streams: readonly Stream[], version: string): Json {
  const schemas: Record<string, unknown> = { Problem: problemSchema };
  const refer = (schema: z.ZodType, io: 'input' | 'output'): unknown => jsonSchema(schema, io, schemas);
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of table) {
    const path = (paths[operation.path] ??= {});
    path[operation.method.toLowerCase()] = describe(operation, refer);
  }
  for (const stream of streams) paths[stream.path] = { get: describeStream(stream, refer) };
  return {
    openapi: '3.1.0',
    info: { title: 'temporal-outbox', version, description: `${about} ${rightsInWords}` },
    security,
    paths,
    components: { schemas, securitySchemes },
  };
}

type Refer = (schema: z.ZodType, io: 'input' | 'output') => unknown;

function describe(operation: Operation, refer: Refer): Json {
  const { answer, body, conditional, name, once, params, query, summary, versioned } = operation;
  return {
    operationId: name,
    summary,
    ...neededRights(operation),
    parameters: [
      ...parametersOf(params, 'path', refer),
      ...parametersOf(query, 'query', refer),
      ...(once === true ? [idempotencyKey] : []),
      ...(conditional === true ? [ifMatch] : []),
    ],
    ...(body !== undefined && {
      requestBody: { required: true, content: { 'application/json': { schema: refer(body, 'input') } } },
    }),
    responses: {
      200: {
        description: 'Done.',
        ...(versioned === true && { headers: { ETag: etag } }),
        content: { 'application/json': { schema: refer(answer, 'output') } },
      },
      default: notDone,
    },
  };
}

function describeStream({ continued, events, name, query, role, summary }: Stream, refer: Refer): Json {
  return {
    operationId: name,
    summary,
    ...neededRights({ role }),
    'x-events': Object.fromEntries(
      Object.entries(events).map(([event, data]) => [event, refer(data, 'output')]),
    ),
    parameters: [...parametersOf(query, 'query', refer), ...(continued === true ? [lastEventId] : [])],
    responses: { 200: { description: 'Goes on.', content: { 'text/event-stream': {} } }, default: notDone },
  };
}

const lastEventId = {
  name: 'Last-Event-ID',
  in: 'header',
  required: false,
  description: 'The last `id` of another stream with the same filter. What changed since is told.',
  schema: { type: 'string' },
};

const notDone = {
  description: 'Not done.',
  content: { [problemType]: { schema: { $ref: '#/components/schemas/Problem' } } },
};

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'A repeat with the same key gets the first answer, for a day; if that is not done, the change goes on.',
  schema: { type: 'string', minLength: 1, maxLength: 200 },
};

const ifMatch = {
  name: 'If-Match',
  in: 'header',
  required: false,
  description: 'The `ETag` of the message as it was shown. If it has changed since, nothing is done.',
  schema: { type: 'string' },
};

const etag = { description: 'Its `version` in quotes, for `If-Match`.', schema: { type: 'string' } };

function parametersOf(object: z.ZodObject, place: 'path' | 'query', refer: Refer): readonly Json[] {
  return Object.entries(object.shape).map(([name, schema]) => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- zod types a shape by its core's types
    const { description, ...described } = refer(schema as z.ZodType, 'input') as Json;
    return {
      name,
      in: place,
      required: place === 'path',
      ...(description !== undefined && { description }),
      schema: described,
    };
  });
}

/** The schema; those with a name of their own become components, to which it refers. */
function jsonSchema(schema: z.ZodType, io: 'input' | 'output', schemas: Record<string, unknown>): unknown {
  const id = components.get(schema)?.id;
  const made = z.toJSONSchema(schema, {
    metadata: components,
    io,
    unrepresentable: 'any',
    // The names are in a registry of their own, descriptions in that of zod.
    override({ jsonSchema: json, zodSchema }) {
      const { description, format } = z.globalRegistry.get(zodSchema) ?? {};
      if (description !== undefined) json.description = description;
      if (typeof format === 'string') json.format = format;
    },
  });
  const { $defs = {}, $schema: _dialect, id: _id, ...own } = referred(made);
  for (const [name, { id: _name, ...definition }] of Object.entries($defs)) schemas[name] = definition;
  if (id === undefined) return own;
  // Where the schema itself is among the definitions, what is left of it is a reference to that.
  if (!Object.hasOwn($defs, id)) schemas[id] = own;
  return { $ref: `#/components/schemas/${id}` };
}

interface Made {
  readonly $defs?: Readonly<Record<string, { readonly id?: string }>>;
  readonly $schema?: string;
  readonly id?: string;
}

function referred(made: object): Made {
  const text = JSON.stringify(made).replaceAll('"#/$defs/', '"#/components/schemas/');
  // oxlint-disable-next-line eslint/no-restricted-properties, typescript/no-unsafe-type-assertion -- it is our own, and a JSON Schema has no other types there
  return JSON.parse(text) as Made;
}

const problemSchema = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'code', 'next', 'instance', 'requestId'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: { type: 'string', enum: Object.keys(errorRules) },
    next: { type: 'string' },
    details: { type: 'object' },
    instance: { type: 'string' },
    requestId: { type: 'string', format: 'uuid' },
  },
};
