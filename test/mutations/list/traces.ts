import type { Mutation } from '../mutation.ts';

const oneTrace = 'A trace leads from the sender to the effect';
const test = 'test/unit/telemetry/spans.test.ts';

/** Spans that are missing, too many, or connected wrongly: nothing fails, and only a reader of traces would notice. */
export const traceMutations: readonly Mutation[] = [
  {
    name: 'spans-without-an-sdk',
    promise: oneTrace,
    file: 'src/telemetry/span.ts',
    find: 'provider.getDelegateTracer(scope)',
    replace: 'provider.getTracer(scope)',
    test,
    title: 'without an SDK no span is made, not even one that does nothing',
  },
  {
    name: 'handler-outside-of-its-span',
    promise: oneTrace,
    file: 'src/telemetry/span.ts',
    find: 'api.trace.setSpan(parent, span)',
    replace: 'parent',
    test,
    title: 'a handler runs in a consumer span, the child of its sender',
  },
  {
    name: 'unsampled-senders-linked',
    promise: oneTrace,
    file: 'src/telemetry/span-attributes.ts',
    find: ' || (sender.traceFlags & api.TraceFlags.SAMPLED) === 0',
    replace: '',
    test,
    title: 'a batch without a recorded sender is published without a span',
  },
  {
    name: 'links-without-a-limit',
    promise: oneTrace,
    file: 'src/telemetry/span-attributes.ts',
    find: 'if (links.length === mostLinks) break;',
    replace: '',
    test,
    title: 'a batch has at most 128 links',
  },
  {
    name: 'batch-under-the-activity-of-its-lane',
    promise: oneTrace,
    file: 'src/telemetry/sender-spans.ts',
    find: 'trace.setSpanContext(ROOT_CONTEXT, first.context) : ROOT_CONTEXT',
    replace: 'api.context.active() : ROOT_CONTEXT',
    test,
    title: 'a single message is published in a child of its sender, also inside of another span',
  },
  {
    name: 'first-try-lost-in-parking',
    promise: oneTrace,
    file: 'src/inbox/handling/kept.ts',
    find: ', firstTry: firstTryOf(incoming)',
    replace: '',
    test: 'test/unit/inbox/first-try.test.ts',
    title: 'a parked message brings the first of its traced tries, which is not among its headers',
  },
];
