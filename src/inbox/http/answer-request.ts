import { fromHttpHeaders } from '../../brokers/http/client/http-headers.ts';
import type { SignedHeaders } from '../../brokers/http/client/signatures.ts';
import { readJson } from '../../core/json.ts';
import { isName } from '../../core/options/name.ts';
import { readable, reasonOf } from '../../core/reason.ts';
import { sqlOf, type Transaction } from '../../store/database/transaction.ts';
import { spans } from '../../telemetry/spans.ts';
import { TransactionEnd, type WorkEnd } from '../../telemetry/work-end.ts';
import { refuseSwallowedError } from '../handling/swallowed-error.ts';
import { once, promised } from '../once.ts';
import { verdictOf } from '../verdict.ts';
import { ownFaultWait } from './own-fault.ts';
import { receiveMetrics } from './receive-metrics.ts';
import type { ReceiveSettings } from './receive-options.ts';
import { readRequestBody } from './request-body.ts';

/** A message that came by HTTP, its signature verified. */
export interface ReceivedRequest {
  /** Of the message, the same at every repetition: `webhook-id`. */
  readonly id: string;
  /** Name of the topic (`ce-type`); `null` from senders without CloudEvents. */
  readonly topic: string | null;
  /** Messages of one topic and key arrive in order; `null`: it has none. */
  readonly key: string | null;
  /** The body: parsed where its content type is JSON, else its text. Nothing has checked its form. */
  readonly payload: unknown;
  /** All headers, CloudEvents as consumers know them (`ce_…`). Only id, time and body are signed. */
  readonly headers: Readonly<Record<string, string>>;
  /** When the request was signed. */
  readonly signedAt: Date;
}

/**
 * Applies a message. What it writes through `tx` commits together with the id of the message, or not at all. It must return
 * the promise of all that it does. Reject with `permanent(error)` where no further try can help.
 */
export type ReceiveWork<Tx> = (tx: Tx, message: ReceivedRequest) => Promise<unknown>;

/** A request, independent of any framework. */
export interface ArrivedRequest {
  readonly headers: Iterable<readonly [string, string]>;
  readonly body: AsyncIterable<Uint8Array>;
}

/** The response. The reason is for the sender's log. */
export interface RequestAnswer {
  readonly status: number;
  readonly reason: string;
  /** Seconds after which the sender may try again; only with a 503. */
  readonly retryAfterS?: number;
}

const done: RequestAnswer = { status: 204, reason: '' };

/** Verifies a request and does its work once. @throws only errors of the options and of the function `secret` */
export async function answerRequest<Tx extends Transaction>(
  { headers: given, body }: ArrivedRequest,
  settings: ReceiveSettings<Tx>,
  work: ReceiveWork<Tx>,
): Promise<RequestAnswer> {
  const webhooks = settings.webhooks();
  const { key, headers } = fromHttpHeaders(given);
  const { maxBytes, bodyTimeoutMs } = settings;
  if (Number(headers['content-length'] ?? 0) > maxBytes)
    return { status: 413, reason: `The body is longer than ${maxBytes} bytes.` };
  const read = await readRequestBody(body, maxBytes, bodyTimeoutMs);
  if (read.kind === 'refused') return read;
  const signed = signedHeaders(given);
  const refusal = webhooks.refusal(signed, read.text);
  if (refusal !== undefined) return { status: 401, reason: `${refusal}.` };
  const id = signed['webhook-id'];
  if (!isName(id)) return { status: 400, reason: 'The id is not one of 1 to 512 bytes without NUL.' };
  const payload = payloadOf(headers['content-type'], read.text);
  if (payload === undefined) return { status: 400, reason: 'The body is not JSON.' };
  const message: ReceivedRequest = {
    id,
    topic: headers['ce_type'] ?? null,
    key,
    payload: payload.value,
    headers,
    signedAt: new Date(Number.parseInt(signed['webhook-timestamp'], 10) * 1_000),
  };
  return apply(message, settings, work);
}

async function apply<Tx extends Transaction>(
  message: ReceivedRequest,
  { client, group, report }: ReceiveSettings<Tx>,
  work: ReceiveWork<Tx>,
): Promise<RequestAnswer> {
  const received = { group, topic: message.topic, storedAt: message.headers['ce_time'] };
  const startedAt = performance.now();
  const end = new TransactionEnd();
  let [begun, duplicate] = [false, false];
  try {
    ({ duplicate } = await client.$transaction(async (tx) => {
      end.begin();
      const answer = await once(tx, group, message.id, () => {
        begun = true;
        return traced(group, message, () => work(tx, message), end);
      });
      await refuseSwallowedError(sqlOf(tx));
      return answer;
    }));
    end.end(undefined);
  } catch (thrown) {
    const error = readable(thrown);
    end.end({ error });
    report(error, message.id);
    const ended = verdictOf(error)?.kind === 'permanent';
    await receiveMetrics.failed(received, performance.now() - startedAt, { error, begun, ended });
    if (ended) return { status: 422, reason: reasonOf(error) };
    const retryAfterS = ownFaultWait(error, begun);
    if (retryAfterS === undefined) return { status: 500, reason: 'The work failed.' };
    return { status: 503, reason: 'The database cannot be used now.', retryAfterS };
  }
  if (duplicate) await receiveMetrics.repeated(received);
  else await receiveMetrics.handled(received, performance.now() - startedAt);
  return done;
}

/** Does the work in a span of its own, which ends with the transaction. A missing promise is refused here, because a span is always awaited. */
async function traced(
  group: string,
  message: ReceivedRequest,
  work: () => Promise<unknown>,
  end: WorkEnd,
): Promise<unknown> {
  const processor = { system: () => 'http', topic: message.topic, group };
  return spans.process(processor, { message, incoming: message }, () => promised(work), end);
}

/** The headers as received, not decoded, because the signature covers the raw values. */
function signedHeaders(given: ArrivedRequest['headers']): SignedHeaders {
  const of = new Map(Array.from(given, ([name, value]) => [name.toLowerCase(), value]));
  const text = (name: keyof SignedHeaders): string => of.get(name) ?? '';
  return {
    'webhook-id': text('webhook-id'),
    'webhook-timestamp': text('webhook-timestamp'),
    'webhook-signature': text('webhook-signature'),
  };
}

/** `undefined`: the content type is JSON, but the body is not. */
function payloadOf(contentType: string | undefined, text: string): { readonly value: unknown } | undefined {
  if (!/^application\/(?:[\w.+-]+\+)?json(?:\s*;|$)/i.test(contentType ?? 'application/json'))
    return { value: text };
  const value = readJson(text);
  return value === undefined ? undefined : { value };
}
