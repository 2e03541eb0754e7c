import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { LiveSession, Session } from './database.ts';

/** Between signs of life. They also keep firewalls, and limits on idle sessions, from ending the connection. */
const pingEveryMs = 1_000;
/** A sign of life that is not answered within this time ends the connection. */
const pingWithinMs = 3_000;
const reconnectAfterMs = 250;
const goodbyeMs = 500;

/**
 * What the session asks of its connection: a server that loses sight of this machine gives the session up in about as
 * long as a lease lasts, instead of the two hours of its defaults.
 */
const keepaliveSql = `
  select set_config('tcp_keepalives_idle', '3', false), set_config('tcp_keepalives_interval', '2', false),
    set_config('tcp_keepalives_count', '3', false), set_config('tcp_user_timeout', '9000', false)`;

/**
 * Opens a connection of its own that lives as long as this process, and makes it anew when it is lost. It holds an
 * advisory lock, by which others see at once when the process has ended, and listens to a channel.
 *
 * Resolves after the first attempt to connect, whether or not it succeeded.
 *
 * @param onNotify called with the payload of each notification, and with an empty one after every connect
 * @param onSilent called when the server stopped answering, or ended the connection
 */
export async function openSession(
  url: string,
  channel: string,
  onNotify: (payload: string) => void,
  onSilent: () => void,
): Promise<Session> {
  const stopping = new AbortController();
  let live: Connected | undefined;
  let onFirst: () => void = () => undefined;
  const first = new Promise<void>((resolve) => {
    onFirst = resolve;
  });

  async function keep(): Promise<void> {
    while (!stopping.signal.aborted) {
      live = await Connected.open(url, channel, onNotify).catch(() => undefined);
      onFirst();
      if (live !== undefined) {
        onNotify('');
        await live.untilLost(stopping.signal);
        live = undefined;
        if (!stopping.signal.aborted) onSilent();
      }
      await delay(reconnectAfterMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }

  const kept = keep();
  await first;
  return {
    current: () => (live?.exclusive ? live : undefined),
    async stop() {
      stopping.abort();
      await kept;
    },
  };
}

/** One connection of a session, from its lock to its loss. */
class Connected implements LiveSession {
  /** False where a pooler hands statements to connections that it shares: nothing of them belongs to this process. */
  exclusive = true;
  readonly key: string;
  readonly #client: pg.Client;
  readonly #lost = new AbortController();
  #pid: number | undefined;

  private constructor(client: pg.Client, key: string) {
    this.#client = client;
    this.key = key;
    const lose = (): void => this.#lost.abort();
    client.on('error', lose);
    client.on('end', lose);
  }

  static async open(url: string, channel: string, onNotify: (payload: string) => void): Promise<Connected> {
    const client = new pg.Client({
      connectionString: url,
      application_name: 'temporal-outbox session',
      connectionTimeoutMillis: pingWithinMs,
      query_timeout: pingWithinMs,
      keepAlive: true,
    });
    const connected = new Connected(client, randomBytes(8).readBigInt64BE().toString());
    client.on('notification', ({ payload }) => onNotify(payload ?? ''));
    try {
      await client.connect();
      await client.query(keepaliveSql);
      await client.query(`listen ${pg.escapeIdentifier(channel)}`);
      await client.query('select pg_advisory_lock($1)', [connected.key]);
      await connected.#ping();
      return connected;
    } catch (error) {
      await connected.#close();
      throw error;
    }
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Resolves when the connection is gone: lost, silent, or stopped. */
  async untilLost(stop: AbortSignal): Promise<void> {
    const ended = AbortSignal.any([stop, this.#lost.signal]);
    while (!ended.aborted) {
      await delay(pingEveryMs, undefined, { signal: ended }).catch(() => undefined);
      if (!ended.aborted) await this.#ping().catch(() => this.#lost.abort());
    }
    await this.#close();
  }

  async #ping(): Promise<void> {
    const { rows } = await this.#client.query<{ pid: number }>('select pg_backend_pid() as pid');
    const pid = rows[0]?.pid;
    this.#pid ??= pid;
    if (pid !== this.#pid) this.exclusive = false;
  }

  async #close(): Promise<void> {
    this.#lost.abort();
    // A goodbye to a server that is gone is never answered.
    const ended = this.#client.end().catch(() => undefined);
    await Promise.race([ended, delay(goodbyeMs, undefined, { ref: false })]);
    this.#client.connection.stream.destroy();
  }
}
