import type { Agent, Dispatcher } from 'undici';
import { startTimer } from '../../../core/timer.ts';

/** A POST request. */
export interface HttpPost {
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The parts of a response that are used. */
export interface HttpAnswer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly location: string | undefined;
  /** The beginning of the body. */
  readonly excerpt: string;
}

/** A response, or why there is none; `written`: the request may have been sent in part or whole. */
export type HttpExchange =
  | { readonly kind: 'answer'; readonly answer: HttpAnswer }
  | { readonly kind: 'failed'; readonly written: boolean; readonly error: Error };

/** How much of the response body is kept for the reason. */
const excerptBytes = 1_024;
/** A longer body closes the connection: reading the rest would cost more than a new one. */
const maxBodyBytes = 64 * 1_024;

/**
 * Posts once; a redirect counts as a response. Resolves at the latest `timeoutMs` after the request was started on a
 * connection, whatever the server does.
 */
export function post(agent: Agent, { body, ...request }: HttpPost, timeoutMs: number): Promise<HttpExchange> {
  return new Promise((resolve) => {
    agent.dispatch({ ...request, method: 'POST', body }, new Exchange(timeoutMs, resolve));
  });
}

class Exchange implements Dispatcher.DispatchHandler {
  readonly #timeoutMs: number;
  readonly #settle: (result: HttpExchange) => void;
  readonly #chunks: Buffer[] = [];
  #timer: NodeJS.Timeout | undefined;
  #answer: Omit<HttpAnswer, 'excerpt'> | undefined;
  #written = false;
  #bodyBytes = 0;

  constructor(timeoutMs: number, settle: (result: HttpExchange) => void) {
    this.#timeoutMs = timeoutMs;
    this.#settle = settle;
  }

  /** Called when a connection is available, before the first byte is written. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#written = true;
    this.#timer = startTimer(() => {
      controller.abort(new Error(`no answer within ${this.#timeoutMs} ms`));
    }, this.#timeoutMs);
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    // Skips interim (1xx) responses.
    if (status < 200) return;
    this.#answer = {
      status,
      retryAfter: single(headers['retry-after']),
      location: single(headers['location']),
    };
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#bodyBytes < excerptBytes) this.#chunks.push(chunk.subarray(0, excerptBytes - this.#bodyBytes));
    this.#bodyBytes += chunk.length;
    if (this.#bodyBytes > maxBodyBytes) controller.abort(new Error('the body of the answer is too long'));
  }

  onResponseEnd(): void {
    this.#end(new Error('the answer ended without a status'));
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#end(error);
  }

  /** Once there is a status, an error in the body does not matter. */
  #end(error: Error): void {
    clearTimeout(this.#timer);
    if (this.#answer === undefined) return this.#settle({ kind: 'failed', written: this.#written, error });
    const excerpt = Buffer.concat(this.#chunks).toString();
    this.#settle({ kind: 'answer', answer: { ...this.#answer, excerpt } });
  }
}

function single(value: string | string[] | undefined): string | undefined {
  return typeof value === 'object' ? value[0] : value;
}
