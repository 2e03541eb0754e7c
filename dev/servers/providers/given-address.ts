import { connect } from 'node:net';
import { OutboxError } from '../../../src/core/errors.ts';

const connectsWithinMs = 5_000;

/**
 * Checks that a server listens at an address given in the environment.
 *
 * An address that does not answer is an error: falling back to another server would hide it.
 */
export async function requireListener(variable: string, host: string, port: number): Promise<void> {
  try {
    await tryConnect(host, port);
  } catch (error) {
    throw new OutboxError(
      'OUTBOX_SERVER_UNAVAILABLE',
      `${variable} names ${host}:${port}, where nothing answers.`,
      {
        cause: error,
        details: { variable, host, port },
      },
    );
  }
}

/** Splits `host:port`; the host may be an IPv6 address in brackets. */
export function splitAddress(
  variable: string,
  address: string,
  defaultPort: number,
): { host: string; port: number } {
  const match = /^(?:\[([^\]]+)\]|([^:/\s]+))(?::(\d{1,5}))?$/.exec(address.trim());
  const host = match?.[1] ?? match?.[2];
  if (host === undefined) {
    throw new OutboxError('OUTBOX_CONFIG_INVALID', `${variable} must be host:port, but it is "${address}".`, {
      details: { variable },
    });
  }
  return { host, port: match?.[3] === undefined ? defaultPort : Number(match[3]) };
}

function tryConnect(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, timeout: connectsWithinMs });
    socket.once('connect', () => {
      socket.destroy();
      resolve();
    });
    socket.once('timeout', () => socket.destroy(new Error(`No connection within ${connectsWithinMs} ms.`)));
    socket.once('error', reject);
  });
}
