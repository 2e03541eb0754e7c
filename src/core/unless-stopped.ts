/** Waits for the promise. @throws the reason of the signal, even if the promise is pending; a later answer is passed to `late` */
export async function unlessStopped<Answer>(
  promise: Promise<Answer>,
  signal: AbortSignal,
  late?: (answer: Answer) => void,
): Promise<Answer> {
  const over = new AbortController();
  const stopped = new Promise<never>((_resolve, reject) => {
    const stop = (): void => {
      if (late !== undefined) void promise.then(late).catch(() => undefined);
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- the reason of an abort is what it is
      reject(signal.reason);
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true, signal: over.signal });
  });
  try {
    return await Promise.race([stopped, promise]);
  } finally {
    over.abort();
  }
}
