/** The header of a message's key, a CloudEvents extension: HTTP has no such field. */
const keyHeader = 'ce-partitionkey';

/**
 * Headers of the connection, the coding of the body, the signature and this library. A message that set them could not be read, or be
 * taken for another.
 */
const taken =
  /^(?:host|connection|keep-alive|transfer-encoding|content-encoding|content-length|te|trailer|upgrade|expect|proxy-.*|webhook-.*|ce-.*)$/;

/** Not percent-encoded: their ASCII syntax gives `%` a meaning of its own, and other programs read them. */
const verbatim = new Set(['content-type', 'traceparent', 'tracestate', 'baggage']);

/** Characters that a header value cannot contain. */
const notCarried = /[^\x20-\x7e]/gu;
/** Those, the spaces at both ends, which receivers trim, and `%`, so that the value can be decoded. */
const notPlain = /^ | $|[^\x20-\x24\x26-\x7e]/gu;
/** The characters that the HTTP binding of CloudEvents encodes. */
const notOfCloudEvents = /[^\x21\x23\x24\x26-\x7e]/gu;

/** The parts of a message that are sent as headers. */
export interface HeadedMessage {
  readonly key: string | null;
  /** As consumers receive them, including CloudEvents (`ce_…`). */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The HTTP headers of a message: CloudEvents in binary mode (`ce-id`), the key, and its own headers under their names.
 * Characters that HTTP cannot carry are percent-encoded.
 */
export function toHttpHeaders({ key, headers }: HeadedMessage): Record<string, string> {
  const sent: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const event = /^ce_(?<attribute>.+)$/.exec(name)?.groups?.['attribute'];
    if (event !== undefined) sent[`ce-${event}`] = value.replaceAll(notOfCloudEvents, encodeURIComponent);
    else sent[name] = value.replaceAll(verbatim.has(name) ? notCarried : notPlain, encodeURIComponent);
  }
  if (key !== null) sent[keyHeader] = key.replaceAll(notOfCloudEvents, encodeURIComponent);
  return sent;
}

/** The first of these names that a message may not use, because the header is reserved. */
export function takenHeader(names: Iterable<string>): string | undefined {
  return [...names].find((name) => taken.test(name));
}

/** Decodes headers of {@link toHttpHeaders}, and those of other senders that have the same meaning. */
export function fromHttpHeaders(received: Iterable<readonly [string, string]>): HeadedMessage {
  const headers: Record<string, string> = {};
  let key: string | null = null;
  for (const [given, value] of received) {
    const name = given.toLowerCase();
    if (name === keyHeader) key = decoded(value);
    else if (name.startsWith('ce-')) headers[`ce_${name.slice(3)}`] = decoded(value);
    else headers[name] = verbatim.has(name) ? value : decoded(value);
  }
  return { key, headers };
}

/** A value of another sender may contain a literal `%`. */
function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
