import { startTimer } from '../../core/timer.ts';

/** A body that arrived completely and in time, or why the request is refused. */
export type RequestBody =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'refused'; readonly status: 400 | 408 | 413; readonly reason: string };

/** Reads the body; stops when it is too long, too late or not UTF-8. */
export async function readRequestBody(
  stream: AsyncIterable<Uint8Array>,
  maxBytes: number,
  withinMs: number,
): Promise<RequestBody> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = startTimer(() => resolve('late'), withinMs);
  });
  const iterator = stream[Symbol.asyncIterator]();
  // `return` may settle only with the next chunk, so it is not awaited.
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
    // With replaced bytes, the signature would be checked against a different body.
    return { kind: 'refused', status: 400, reason: 'The body is not text in UTF-8.' };
  }
}
