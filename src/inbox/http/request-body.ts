/** The body of a request that arrived whole and in time, or why it is refused. */
export type RequestBody =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'refused'; readonly status: 400 | 408 | 413; readonly reason: string };

/** Reads a body to its end, unless it is too long, too late or no text in UTF-8: then it reads no further. */
export async function readRequestBody(
  stream: AsyncIterable<Uint8Array>,
  maxBytes: number,
  withinMs: number,
): Promise<RequestBody> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), withinMs);
  });
  const iterator = stream[Symbol.asyncIterator]();
  // One that waits for a piece ends only with it, so nobody waits for this.
  const leave = (): void => void iterator.return?.().catch(() => undefined);
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), late]);
      if (next === 'late') {
        leave();
        return { kind: 'refused', status: 408, reason: `The body did not arrive within ${withinMs} ms.` };
      }
      if (next.done === true) break;
      bytes += next.value.byteLength;
      if (bytes > maxBytes) {
        leave();
        return { kind: 'refused', status: 413, reason: `The body is longer than ${maxBytes} bytes.` };
      }
      pieces.push(next.value);
    }
  } finally {
    clearTimeout(timer);
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(pieces));
    return { kind: 'text', text };
  } catch {
    // Bytes that were replaced to make a text could carry a signature of other bytes.
    return { kind: 'refused', status: 400, reason: 'The body is not text in UTF-8.' };
  }
}
