import type * as OpenTelemetry from '@opentelemetry/api';

type Headers = Readonly<Record<string, string>>;
type Api = typeof OpenTelemetry;

/**
 * Carries the trace from who sends a message to who handles it, by W3C Trace Context in the headers `traceparent` and
 * `tracestate`: plain ones, as OpenTelemetry's instrumentations of Kafka read and write them. Without OpenTelemetry it
 * does nothing.
 */
export interface Tracing {
  /** The headers that name the active span; none where there is no active span. */
  headers(): Promise<Headers>;
  /**
   * Runs `work` in the context that the headers of a message name, so that its spans belong to the sender's trace. Without
   * a readable one it runs in the context of the caller.
   */
  within(headers: () => Headers, work: () => unknown): unknown;
}

/** @param load loads OpenTelemetry's API; where that fails, nothing is carried */
export function createTracing(load: () => Promise<Api>): Tracing {
  /** `undefined`: nobody has asked for it yet, or it is being loaded. */
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
  const run = (api: Api | undefined, headers: () => Headers, work: () => unknown): unknown =>
    api === undefined ? work() : runWithin(api, headers(), work);
  return {
    async headers() {
      // The context survives the wait: it belongs to the chain of calls.
      const { api } = found ?? (await find());
      return api === undefined ? {} : headersOf(api);
    },
    within(headers, work) {
      if (found !== undefined) return run(found.api, headers, work);
      return find().then(({ api }) => run(api, headers, work));
    },
  };
}

/** By the package `@opentelemetry/api` where it is installed; it finds the SDK that the process has set up, if any. */
export const tracing = createTracing(() => import('@opentelemetry/api'));

function headersOf({ context, isSpanContextValid, trace }: Api): Headers {
  const span = trace.getSpanContext(context.active());
  if (span === undefined || !isSpanContextValid(span)) return {};
  const flags = (span.traceFlags & 0xff).toString(16).padStart(2, '0');
  const state = span.traceState?.serialize() ?? '';
  return {
    traceparent: `00-${span.traceId}-${span.spanId}-${flags}`,
    ...(state !== '' && { tracestate: state }),
  };
}

function runWithin(
  { context, createTraceState, isSpanContextValid, trace }: Api,
  { traceparent = '', tracestate }: Headers,
  work: () => unknown,
): unknown {
  // Later versions may append fields; version ff is none.
  const [, version, traceId = '', spanId = '', flags = '', more] =
    /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/.exec(traceparent) ?? [];
  const span = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
    ...(tracestate !== undefined && { traceState: createTraceState(tracestate) }),
  };
  const readable = version !== undefined && version !== 'ff' && (version !== '00' || more === undefined);
  if (!readable || !isSpanContextValid(span)) return work();
  return context.with(trace.setSpanContext(context.active(), span), work);
}
