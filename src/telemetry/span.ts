import type { Context, ProxyTracerProvider, Span, Tracer, TracerProvider } from '@opentelemetry/api';
import { errorTypeOf } from '../core/error-type.ts';
import type { Api } from './api.ts';
import type { WorkEnd } from './work-end.ts';

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

/** Ends the span with the work, which runs as its child; of work that succeeds, not before `end`. */
export function inside<Result>(
  api: Api,
  span: Span,
  parent: Context,
  work: () => Promise<Result>,
  end?: WorkEnd,
): Promise<Result> {
  return api.context.with(api.trace.setSpan(parent, span), async () => {
    try {
      const result = await work();
      endWith(api, span, end);
      return result;
    } catch (error) {
      fail(api, span, errorTypeOf(error));
      span.end();
      throw error;
    }
  });
}

/** Ends the span when `end` has come, as failed if the effects of its work are lost then; at once without one. */
export function endWith(api: Api, span: Span, end: WorkEnd | undefined): void {
  if (end === undefined) span.end();
  else
    end.onEnd((failure) => {
      if (failure !== undefined) fail(api, span, errorTypeOf(failure.error));
      span.end();
    });
}

/** Without the error itself, whose text may repeat values of a payload. */
export function fail({ SpanStatusCode }: Api, span: Span, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}
