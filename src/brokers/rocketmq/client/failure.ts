import type { ServiceError } from '@grpc/grpc-js';

/** The proxy refused a request, with a status of RocketMQ. */
export class RefusedRequest extends Error {
  override readonly name = 'RefusedRequest';
  /** Its name in the protocol, for example `TOPIC_NOT_FOUND`. */
  readonly status: string;

  /** @param message the text of the proxy; all lines but the first are a link to the documentation */
  constructor(status: string, message: string) {
    super(`${status}: ${message.split('\n')[0] ?? ''}`);
    this.status = status;
  }
}

/** A proxy did not answer: it is unreachable, or took too long. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
  /** The gRPC status code, for example 14, unavailable. */
  readonly code: number;

  constructor(endpoint: string, cause: ServiceError) {
    super(reasonOf(endpoint, cause), { cause });
    this.code = cause.code;
  }
}

const deadlineExceeded = 4;
const connectionFailed = 14;

/** True if a proxy could not be reached, or did not answer in time. */
export function isAway(error: unknown): boolean {
  return error instanceof NoAnswer && (error.code === deadlineExceeded || error.code === connectionFailed);
}

/** True if the topic does not exist. */
export function isMissing(error: unknown): boolean {
  return error instanceof RefusedRequest && /^(?:TOPIC_)?NOT_FOUND$/.test(error.status);
}

const tlsWords = /certificate|\bTLS\b|\bSSL\b|altnames|cert's/i;

function reasonOf(endpoint: string, { code, details }: ServiceError): string {
  const status: number = code;
  if (status === deadlineExceeded) return `${endpoint} did not answer in time`;
  const last = /Last error: (.*?)(?:\. Resolution note:|$)/s.exec(details)?.[1] ?? details;
  const said = last.replace(/^Error: /, '').trim();
  if (tlsWords.test(said)) return `TLS with ${endpoint} failed: ${said}`;
  return said.includes(endpoint) ? said : `${endpoint}: ${said}`;
}
