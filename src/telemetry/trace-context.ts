import type * as OpenTelemetry from '@opentelemetry/api';

type Headers = Readonly<Record<string, string>>;
type Api = typeof OpenTelemetry;

/**
 * Propagates the trace from the sender of a message to its handler by W3C Trace Context, in the unprefixed headers
 * `traceparent` and `tracestate`, which OpenTelemetry's instrumentations of Kafka read and write. Without OpenTelemetry
 * it does nothing.
 */
export interface Tracing {
  /** The headers for the active span; none without an active span. */
  headers(): Promise<Headers>;
  /**
   * Runs `work` in the trace context of a message's headers, so that its spans belong to the sender's trace. Without a
   * valid one it runs in the context of the caller.
   */
  within(headers: () => Headers, work: () => unknown): unknown;
}

/** @param load loads OpenTelemetry's API; if it fails, nothing is propagated */
export function createTracing(load: () => Promise<Api>): Tracing {
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
  const run = (api: Api | undefined, headers: () => Headers, work: () => unknown): unknown =>
    api === undefined ? work() : runWithin(api, headers(), work);
  return {
    async headers() {
      // The active context is kept across the wait: it follows the asynchronous call chain.
      const { api } = found ?? (await find());
      return api === undefined ? {} : headersOf(api);
    },
    within(headers, work) {
      if (found !== undefined) return run(found.api, headers, work);
      return find().then(({ api }) => run(api, headers, work));
    },
  };
}

/** Uses the package `@opentelemetry/api` if installed, which finds the SDK set up by the process, if any. */
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
  // Later versions may append fields; version ff is invalid.
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
