import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { IncomingMessage } from '../../brokers/source.ts';
import type { OutboxError } from '../../core/errors.ts';
import { reasonOf } from '../../core/reason.ts';
import type { Topic } from '../../core/topic.ts';
import {
  oldestVersion,
  UpcastFailure,
  upcastPayload,
  versionHeader,
  versionOf,
} from '../../core/topic-version.ts';
import type { InboxMessage } from './inbox-message.ts';
import { parseBody } from './parse-body.ts';
import { plainMessage, ReceivedMessage } from './received-message.ts';
import { unreadable } from './unreadable.ts';
import { withoutValues } from './without-values.ts';

const maxIssues = 10;

/** What is known before the body is read, and how to build the message. */
export interface Reading {
  readonly id: string;
  readonly attempt: number;
  /** Decode key, headers and time on first use. @defaultValue false: a plain object */
  readonly lazy?: boolean;
}

/**
 * Reads a message as its handler receives it: upcasters convert the payload to the current version, then the schema
 * parses it. Synchronous, unless the schema returns a promise.
 *
 * @throws OutboxError `OUTBOX_MESSAGE_UNREADABLE`, reason `unreadable`, `unknown-version` or `invalid`; a rejection of the
 * schema's promise is passed on, because a schema that calls other systems may succeed later
 */
export function readMessage<Input, Output>(
  topic: Topic<Input, Output>,
  message: IncomingMessage,
  { id, attempt, lazy = false }: Reading,
): InboxMessage<Output> | Promise<InboxMessage<Output>> {
  const body = currentPayload(topic, message);
  const result = judged(topic, message, body);
  const received = (judgement: StandardSchemaV1.Result<Output>): InboxMessage<Output> => {
    const payload = valueOf(topic, message, body, judgement);
    const read = { id, topic: topic.name, payload, attempt };
    return lazy ? new ReceivedMessage(message, read) : plainMessage(message, read);
  };
  if (result instanceof Promise) {
    return result.then(received, (error: unknown) => {
      // Nested too deeply for the schema's recursion: a retry cannot help.
      throw error instanceof RangeError ? thrown(topic, message, body, error) : error;
    });
  }
  return received(result);
}

/** The parsed body, converted to the current version. */
function currentPayload<Input, Output>(topic: Topic<Input, Output>, message: IncomingMessage): unknown {
  const { name, rules } = topic;
  const version = versionOf(message.header(versionHeader));
  if (version === rules.version) return parseBody(message);
  if (version === undefined)
    throw unreadable(message, 'unknown-version', `its header ${versionHeader} is no version`);
  const oldest = oldestVersion(rules);
  if (version < oldest || version > rules.version) {
    const known = oldest === rules.version ? `${oldest}` : `${oldest} to ${rules.version}`;
    throw unreadable(
      message,
      'unknown-version',
      `it is of version ${version}, and of the topic "${name}" only ${known} can be read here`,
    );
  }
  return upcast(topic, message, version);
}

function upcast<Input, Output>(
  { name, rules }: Topic<Input, Output>,
  message: IncomingMessage,
  version: number,
): unknown {
  const payload = parseBody(message);
  try {
    return upcastPayload(rules, version, payload);
  } catch (error) {
    if (!(error instanceof UpcastFailure)) throw error;
    const [why] = withoutValues([error.message], [payload, error.payload]);
    throw unreadable(
      message,
      'invalid',
      `the upcaster of version ${error.from} of the topic "${name}" failed (${why})`,
      error.cause,
    );
  }
}

function judged<Input, Output>(
  topic: Topic<Input, Output>,
  message: IncomingMessage,
  payload: unknown,
): ReturnType<StandardSchemaV1<Input, Output>['~standard']['validate']> {
  try {
    return topic.schema['~standard'].validate(payload);
  } catch (error) {
    throw thrown(topic, message, payload, error);
  }
}

function valueOf<Input, Output>(
  { name }: Topic<Input, Output>,
  message: IncomingMessage,
  payload: unknown,
  result: StandardSchemaV1.Result<Output>,
): Output {
  if (result.issues === undefined) return result.value;
  const issues = result.issues.slice(0, maxIssues);
  const problems = withoutValues(
    issues.map((issue) => issue.message),
    payload,
  );
  const listed = issues.map(({ path }, n) => `${pathOf(path)}: ${problems[n]}`).join('; ');
  throw unreadable(
    message,
    'invalid',
    `its payload does not match the schema of the topic "${name}" (${listed})`,
  );
}

/** The error of a schema that throws: it would throw again. */
function thrown(topic: Topic, message: IncomingMessage, payload: unknown, error: unknown): OutboxError {
  const [why] = withoutValues([reasonOf(error)], payload);
  return unreadable(message, 'invalid', `the schema of the topic "${topic.name}" failed (${why})`, error);
}

function pathOf(path: StandardSchemaV1.Issue['path'] = []): string {
  const steps = path.map((step) => String(typeof step === 'object' ? step.key : step));
  return steps.length === 0 ? '(whole)' : steps.join('.');
}
