import type * as OpenTelemetry from '@opentelemetry/api';
import type { Api } from './api.ts';
import type { TraceHeaders } from './traced-message.ts';

/** The headers of W3C Trace Context for a span; none for an invalid one. */
export function headersOf(
  { isSpanContextValid }: Api,
  span: OpenTelemetry.SpanContext | undefined,
): TraceHeaders {
  if (span === undefined || !isSpanContextValid(span)) return {};
  const flags = (span.traceFlags & 0xff).toString(16).padStart(2, '0');
  const state = span.traceState?.serialize() ?? '';
  return {
    traceparent: `00-${span.traceId}-${span.spanId}-${flags}`,
    ...(state !== '' && { tracestate: state }),
  };
}

/** The span that the headers of a message name, if they name one. */
export function spanOf(
  { createTraceState, isSpanContextValid }: Api,
  { traceparent, tracestate }: TraceHeaders,
): OpenTelemetry.SpanContext | undefined {
  if (traceparent === undefined) return undefined;
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
  return readable && isSpanContextValid(span) ? span : undefined;
}
