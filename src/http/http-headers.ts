/** The key of a message: an extension of CloudEvents, because HTTP has no place of its own for it. */
const keyHeader = 'ce-partitionkey';

/** Of the connection, of the signature and of the library: a message that brought its own could pass for another. */
const taken =
  /^(?:host|connection|keep-alive|transfer-encoding|content-length|te|trailer|upgrade|expect|proxy-.*|webhook-.*|ce-.*)$/;

/** Their grammar is ASCII with a meaning for `%`, and others read them. */
const verbatim = new Set(['content-type', 'traceparent', 'tracestate', 'baggage']);

/** What HTTP cannot carry in a value. */
const notCarried = /[^\x20-\x7e]/gu;
/** That, the ends that are trimmed, and `%`, so that the value can be read back. */
const notPlain = /^ | $|[^\x20-\x24\x26-\x7e]/gu;
/** What the HTTP binding of CloudEvents encodes. */
const notOfCloudEvents = /[^\x21\x23\x24\x26-\x7e]/gu;

/** What of a message goes into headers. */
export interface HeadedMessage {
  readonly key: string | null;
  /** As consumers know them, CloudEvents (`ce_…`) included. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The headers of a message in HTTP: CloudEvents in binary mode (`ce-id`), its key, its own under their names. Characters that
 * HTTP cannot carry are percent-encoded.
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

/** The first header that a message may not bring, or the connection would mean something else. */
export function takenHeader(names: Iterable<string>): string | undefined {
  return [...names].find((name) => taken.test(name));
}

/** What {@link toHttpHeaders} has made, and headers of other senders as far as they have the same meaning. */
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

/** A value of another sender may contain `%` without a meaning. */
function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
