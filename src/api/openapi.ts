import { errorRules } from '../core/errors.ts';
import { isRequired, object } from '../core/options/collections.ts';
import type { Inputs } from '../operations/inputs/values.ts';
import type { AnswerName } from './answers.ts';
import { answerSchemas } from './generated/answer-schemas.ts';
import type { Stream } from './live/stream.ts';
import type { Operation } from './operation.ts';
import { problemType } from './problem.ts';
import { neededRights, rightsInWords, security, securitySchemes } from './proofs-described.ts';

type Json = Readonly<Record<string, unknown>>;

const about =
  'What an operator may do, over HTTP. A change needs the header `Content-Type: application/json`, and without a bearer token also `Origin` with the address of the API.';

/** The OpenAPI 3.1 document of the operations and streams. */
export function openApiOf(table: readonly Operation[], streams: readonly Stream[], version: string): Json {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of table) {
    const path = (paths[operation.path] ??= {});
    path[operation.method.toLowerCase()] = describe(operation);
  }
  for (const stream of streams) paths[stream.path] = { get: describeStream(stream) };
  return {
    openapi: '3.1.0',
    info: { title: 'temporal-outbox', version, description: `${about} ${rightsInWords}` },
    security,
    paths,
    components: { schemas: { Problem: problemSchema, ...answerSchemas.shared }, securitySchemes },
  };
}

function describe(operation: Operation): Json {
  const { answer, body, conditional, name, once, params, query, summary, versioned } = operation;
  return {
    operationId: name,
    summary,
    ...neededRights(operation),
    parameters: [
      ...parametersOf(params, 'path'),
      ...parametersOf(query, 'query'),
      ...(once === true ? [idempotencyKey] : []),
      ...(conditional === true ? [ifMatch] : []),
    ],
    ...(body !== undefined && {
      requestBody: { required: true, content: { 'application/json': { schema: object(body).schema } } },
    }),
    responses: {
      200: {
        description: 'Done.',
        ...(versioned === true && { headers: { ETag: etag } }),
        content: { 'application/json': { schema: schemaOf(answer) } },
      },
      default: notDone,
    },
  };
}

function describeStream({ continued, events, name, query, role, summary }: Stream): Json {
  return {
    operationId: name,
    summary,
    ...neededRights({ role }),
    'x-events': Object.fromEntries(Object.entries(events).map(([event, data]) => [event, schemaOf(data)])),
    parameters: [...parametersOf(query, 'query'), ...(continued === true ? [lastEventId] : [])],
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

function parametersOf(inputs: Inputs, place: 'path' | 'query'): readonly Json[] {
  return Object.entries(inputs).map(([name, reader]) => {
    const { description, ...schema } = reader.schema ?? {};
    return {
      name,
      in: place,
      required: isRequired(reader),
      ...(description !== undefined && { description }),
      // A list is written with commas.
      ...(schema['type'] === 'array' && { style: 'form', explode: false }),
      schema,
    };
  });
}

function schemaOf(name: AnswerName): unknown {
  return answerSchemas.answers[name];
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
