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
  /** Whether a side has refused the TLS of the other. */
  readonly isTls: boolean;

  constructor(endpoint: string, cause: ServiceError) {
    const said = saidOf(cause);
    const isTls = tlsWords.test(said);
    super(reasonOf(endpoint, cause.code, isTls, said), { cause });
    this.code = cause.code;
    this.isTls = isTls && !ended.test(said);
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

/** True if RocketMQ knows the user, who may not do this. It has the same status for a wrong user or secret: only the text differs. */
export function lacksPrivilege({ message, status }: RefusedRequest): boolean {
  return status === 'FORBIDDEN' || (status === 'UNAUTHORIZED' && /no permission/.test(message));
}

/** What Node says of a server that does not speak TLS, but also of one that stops. */
const ended = /disconnected before secure TLS/;
const tlsWords = /certificate|\bTLS\b|\bSSL\b|altnames|cert's/i;

/** What failed, without what gRPC says of its own tries. */
function saidOf({ details }: ServiceError): string {
  const last = /Last error: (.*?)(?:\. Resolution note:|$)/s.exec(details)?.[1] ?? details;
  return last.replace(/^Error: /, '').trim();
}

function reasonOf(endpoint: string, status: number, isTls: boolean, said: string): string {
  // What gRPC says if the other side ends what begins there, with the time.
  if (said.startsWith('Failed to connect ('))
    return `${endpoint} ended the connection, as one does that wants TLS, or none (\`tls\`)`;
  if (status === deadlineExceeded) return `${endpoint} did not answer in time`;
  if (isTls) return `TLS with ${endpoint} failed: ${said}`;
  return said.includes(endpoint) ? said : `${endpoint}: ${said}`;
}
