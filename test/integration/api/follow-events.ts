import type { Caller } from '../../../src/api/authentication.ts';

/** One server-sent event. */
export interface ServerEvent {
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A stream that is read until it ends, or `stop` is called. */
export interface Followed {
  readonly stop: () => void;
  /** How it ended: `ended`, `aborted`, or the status of a response that is no stream. */
  readonly ended: Promise<number | string>;
  /** The events of this name so far. */
  readonly of: (event: string) => readonly ServerEvent['data'][];
  /** The last id so far. */
  readonly lastId: () => string | undefined;
  readonly text: () => string;
}

/** Reads the events of an address. */
export function followEvents(
  url: string,
  caller: Caller,
  headers: Readonly<Record<string, string>> = {},
): Followed {
  const stop = new AbortController();
  let text = '';
  const ended = (async () => {
    const response = await fetch(url, {
      headers: { 'x-test': JSON.stringify(caller), ...headers },
      signal: stop.signal,
    });
    if (response.body === null || response.status !== 200) return response.status;
    const decoder = new TextDecoder();
    const body: ReadableStream<Uint8Array> = response.body;
    for await (const chunk of body) text += decoder.decode(chunk, { stream: true });
    return 'ended';
  })().catch(() => 'aborted');
  const whole = (): readonly string[] => text.split('\n\n').slice(0, -1);
  return {
    stop: () => stop.abort(),
    ended,
    of: (event) =>
      whole()
        .filter((one) => one.startsWith(`event: ${event}\n`))
        .map((one) => JSON.parse(one.slice(one.indexOf('{'))) as ServerEvent['data']),
    lastId: () =>
      whole()
        .findLast((one) => one.startsWith('id: '))
        ?.slice('id: '.length),
    text: () => text,
  };
}
