import { type Api, loadApi } from './api.ts';
import { tracePark, traceProcess, traceProcessAll } from './process-spans.ts';
import { type PublishedBatch, tracePublish, traceSend } from './sender-spans.ts';
import { headersOf } from './trace-context.ts';
import type { Processor, TraceHeaders, TriedMessage } from './traced-message.ts';
import type { WorkEnd } from './work-end.ts';

/**
 * Traces a message from its sender to its handler. Its context travels in the headers `traceparent` and `tracestate` of W3C
 * Trace Context, which OpenTelemetry's instrumentations of Kafka read and write; spans are made by the conventions of
 * messaging. Without `@opentelemetry/api` nothing happens, without an SDK set up by the process the context is only carried.
 * Baggage is never carried.
 */
export interface Spans {
  /** Stores messages in a span of the sender, whose context {@link Spans.headers} returns meanwhile. */
  send<Result>(
    topic: string,
    count: number,
    store: () => Promise<Result>,
    idOf: (stored: Result) => string | undefined,
  ): Promise<Result>;
  /** The headers for the active span; none without an active span. */
  headers(): Promise<TraceHeaders>;
  /**
   * Publishes a batch in a span that links to the senders, at most 128, and is a child of the sender of a single message.
   * A batch without a recorded sender has no span.
   */
  publish<Result>(
    batch: PublishedBatch,
    publish: () => Promise<Result>,
    failureOf: (result: Result) => string | undefined,
  ): Promise<Result>;
  /**
   * Runs a handler in a span of its own: a child of the sender's, or of the active span if that belongs to the same trace. It
   * links to the sender, to an active span of another trace, and to the first try. Without a trace it runs in the context of
   * the caller.
   *
   * @param end the end of the transaction that holds its effects: its span ends then, and is an error if they are lost.
   * @defaultValue the span ends with the handler
   */
  process(processor: Processor, tried: TriedMessage, handle: () => unknown, end?: WorkEnd): unknown;
  /** The same for a handler of many messages: one span with a link to each sender, at most 128. */
  processAll(
    processor: Processor,
    tried: readonly TriedMessage[],
    handle: () => unknown,
    end?: WorkEnd,
  ): unknown;
  /**
   * Notes by a span that a traced message is parked without a try, so that its later tries link to it. Nothing if it was tried.
   *
   * @returns a promise only for the first time
   */
  park(processor: Processor, tried: TriedMessage, end?: WorkEnd): Promise<void> | undefined;
}

/** @param load loads OpenTelemetry's API; without it nothing is traced */
export function createSpans(load: () => Promise<Api | undefined>): Spans {
  /** `undefined`: not yet requested, or still loading. */
  let found: { readonly api: Api | undefined } | undefined;
  let finding: Promise<{ readonly api: Api | undefined }> | undefined;
  const find = async (): Promise<{ readonly api: Api | undefined }> => {
    finding ??= load().then(
      (api) => ({ api }),
      () => ({ api: undefined }),
    );
    found = await finding;
    return found;
  };
  /** At once, but for the first time. The active context is kept across the wait: it follows the asynchronous call chain. */
  const within = (handle: () => unknown, traced: (api: Api) => unknown): unknown => {
    const run = ({ api }: { readonly api: Api | undefined }): unknown =>
      api === undefined ? handle() : traced(api);
    return found === undefined ? find().then(run) : run(found);
  };
  return {
    async send(topic, count, store, idOf) {
      const { api } = found ?? (await find());
      return api === undefined ? store() : traceSend(api, { topic, count }, store, idOf);
    },
    async headers() {
      const { api } = found ?? (await find());
      return api === undefined ? {} : headersOf(api, api.trace.getSpanContext(api.context.active()));
    },
    async publish(batch, publish, failureOf) {
      const { api } = found ?? (await find());
      return api === undefined ? publish() : tracePublish(api, batch, publish, failureOf);
    },
    process: (processor, tried, handle, end) =>
      within(handle, (api) => traceProcess(api, processor, tried, handle, end)),
    processAll: (processor, tried, handle, end) =>
      within(handle, (api) => traceProcessAll(api, processor, tried, handle, end)),
    park: (processor, tried, end) => {
      const note = ({ api }: { readonly api: Api | undefined }): undefined => {
        if (api !== undefined) tracePark(api, processor, tried, end);
      };
      return found === undefined ? find().then(note) : note(found);
    },
  };
}

/** Uses the package `@opentelemetry/api` if installed, which finds the SDK set up by the process, if any. */
export const spans = createSpans(loadApi);
