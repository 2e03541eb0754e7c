// Without types of OpenTelemetry: types of the library name these, and it need not be installed.

/** The headers of a message; those of its trace are `traceparent` and `tracestate`. */
export type TraceHeaders = Readonly<Record<string, string>>;

/** Who processes messages. */
export interface Processor {
  /** Name of the source. */
  readonly system: () => string;
  /** `null`: unknown. */
  readonly topic: string | null;
  readonly group: string;
}

/** A message at one of its tries. */
export interface TriedMessage {
  readonly message: { readonly id: string; readonly headers: TraceHeaders; readonly attempt?: number };
  /** As it arrived: the same object at every try of this process. */
  readonly incoming: object;
}
