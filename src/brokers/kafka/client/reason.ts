import { reasonOf } from '../../../core/reason.ts';
import { withoutSecrets } from '../../../core/secrets.ts';
import { isTlsFailure } from '../../../core/tls-failure.ts';

/** What kafkajs throws when a connection fails. */
interface ConnectionFailure extends Error {
  readonly broker?: string;
  readonly code?: string;
}

/** What an error of kafkajs says; where a connection failed, with its broker and what to look at. */
export function kafkaReason(error: unknown): string {
  const failure = connectionFailureIn(error);
  if (failure === undefined) return reasonOf(error);
  const { broker = 'Kafka', code = '', message } = failure;
  const said = withoutSecrets(message.replace(/^Connection error: /, '').trim());
  const ended = failure.name === 'KafkaJSConnectionClosedError';
  return brokenConnection(broker, { code, ended, said });
}

/** What is known of a connection that failed. */
interface BrokenConnection {
  /** Of Node; empty without one. */
  readonly code: string;
  /** The other side has ended it, and said nothing. */
  readonly ended: boolean;
  readonly said: string;
}

/** Why a connection to a broker failed, and what to look at; the same words for every client. */
export function brokenConnection(broker: string, { code, ended, said }: BrokenConnection): string {
  if (isTlsFailure(code)) return `TLS with ${broker} failed: ${said}`;
  if (said.includes('before secure TLS connection was established'))
    return `TLS with ${broker} failed: it ended the handshake, as a port without TLS does`;
  if (ended)
    return `${broker} closed the connection: it went away, or wants TLS or a password (\`tls\`, \`sasl\`)`;
  return said.includes(broker) ? said : `${broker}: ${said}`;
}

/** kafkajs wraps what it gives up on, even with retries off. */
function connectionFailureIn(error: unknown): ConnectionFailure | undefined {
  for (let current = error; current instanceof Error; current = current.cause)
    if (current.name === 'KafkaJSConnectionError' || current.name === 'KafkaJSConnectionClosedError')
      return current;
  return undefined;
}
