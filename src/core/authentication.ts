/** What a caller may do. Each includes those before it. */
export type Role = 'viewer' | 'operator' | 'admin';

/** Who makes a request, as far as authentication has proved it. */
export interface Caller {
  /** For the audit: at most 200 characters. */
  readonly name: string;
  /** What it may do. */
  readonly role: Role;
  /** Whether it may read payloads and headers. */
  readonly payloads: boolean;
  /** Only these topics; `undefined`: all. */
  readonly topics?: readonly string[];
  /** True if a browser sends its proof by itself (a cookie, Basic): its changes must come from the same origin. */
  readonly ambient: boolean;
}

/** Proves who makes a request. */
export interface Authentication {
  /**
   * Who makes the request. Of an open stream this is asked again every 15 seconds: no caller, or other rights, end it.
   *
   * @returns nothing if the request proves nobody (401); rejects if that cannot be known now (503), or with
   * `OUTBOX_REQUEST_LIMITED` after too many wrong tries (429)
   */
  caller(request: Request): Promise<Caller | undefined>;
  /**
   * Answers requests to its own paths, such as a sign-in; nothing for all others. Rejects with an OutboxError where the fault is not the
   * caller's, of which the API makes the answer.
   */
  handle?(request: Request): Promise<Response | undefined>;
  /** For the header `WWW-Authenticate` of a 401. */
  readonly challenge?: string;
  /** Closes what it has opened, when the API ends. */
  close?(): Promise<void>;
}
