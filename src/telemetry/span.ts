import type { Context, ProxyTracerProvider, Span, Tracer, TracerProvider } from '@opentelemetry/api';
import type { Api } from './api.ts';
import { errorTypeOf } from './span-attributes.ts';

const scope = 'temporal-outbox';

/** The tracer of the SDK. Without one the API would make spans that do nothing, one for each message. */
export function tracerOf({ trace }: Api): Tracer | undefined {
  const provider = trace.getTracerProvider();
  return isProxy(provider) ? provider.getDelegateTracer(scope) : provider.getTracer(scope);
}

/** Not asked by its class: the process may have set it up through another copy of the package. */
function isProxy(provider: TracerProvider): provider is ProxyTracerProvider {
  return 'getDelegateTracer' in provider;
}

/** Ends the span with the work, which runs as its child. */
export function inside<Result>(
  api: Api,
  span: Span,
  parent: Context,
  work: () => Promise<Result>,
): Promise<Result> {
  return api.context.with(api.trace.setSpan(parent, span), async () => {
    try {
      return await work();
    } catch (error) {
      fail(api, span, errorTypeOf(error));
      throw error;
    } finally {
      span.end();
    }
  });
}

/** Without the error itself, whose text may repeat values of a payload. */
export function fail({ SpanStatusCode }: Api, span: Span, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}
