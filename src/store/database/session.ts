import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { late, orLate } from '../../core/or-late.ts';
import { rest } from '../../core/rest.ts';
import { clientConfig } from './client-config.ts';
import type { LiveSession, Session } from './database.ts';
import type { DatabaseAddress } from './database-address.ts';

/** Between pings. They also keep firewalls, and limits on idle sessions, from ending the connection. */
const pingEveryMs = 1_000;
/** A ping that is not answered within this time ends the connection. */
const pingWithinMs = 3_000;
const reconnectAfterMs = 250;
const goodbyeMs = 500;

/**
 * Opens a separate connection that lives as long as this process, and reopens it when it is lost. It holds an advisory
 * lock, which shows others at once when the process has ended, and listens to a channel.
 *
 * Resolves after the first attempt to connect, whether or not it succeeded.
 *
 * @param onNotify called with the payload of each notification, and with an empty one after a reconnect
 * @param onSilent called when the server has stopped answering, so that other connections may be dead, too
 */
export async function openSession(
  address: DatabaseAddress,
  channel: string,
  onNotify: (payload: string) => void,
  onSilent: () => void,
): Promise<Session> {
  const stopping = new AbortController();
  const open = (): Promise<Connected | undefined> =>
    Connected.open(address, channel, onNotify).catch(() => undefined);
  let live = await open();

  async function keep(): Promise<void> {
    while (!stopping.signal.aborted) {
      if (live === undefined) await rest(reconnectAfterMs, stopping.signal);
      else await outlive(live);
      if (stopping.signal.aborted) return;
      live = await open();
      // Notifications sent meanwhile were missed.
      if (live !== undefined) onNotify('');
    }
    await live?.close();
  }

  async function outlive(connected: Connected): Promise<void> {
    const end = await connected.untilEnd(stopping.signal);
    live = undefined;
    if (end === 'silent') onSilent();
    const closed = connected.close();
    if (stopping.signal.aborted) await closed;
  }

  const kept = keep();
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
  /** False behind a pooler that shares connections among clients: none of them belongs to this process. */
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

  static async open(
    address: DatabaseAddress,
    channel: string,
    onNotify: (payload: string) => void,
  ): Promise<Connected> {
    const client = new pg.Client({
      ...clientConfig(address),
      application_name: 'temporal-outbox session',
      connectionTimeoutMillis: pingWithinMs,
      query_timeout: 2 * pingWithinMs,
      keepAlive: true,
    });
    const connected = new Connected(client, randomBytes(8).readBigInt64BE().toString());
    client.on('notification', ({ payload }) => onNotify(payload ?? ''));
    try {
      await client.connect();
      // In one message, because lanes wait for it after a session was lost. With these settings a server that can no longer
      // reach this machine ends the session after about the time of a lease, instead of two hours;
      // it does not end one for being idle between two pings.
      await client.query(`
        set tcp_keepalives_idle = 3; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 3; set tcp_user_timeout = 9000;
        set idle_session_timeout = 0;
        listen ${pg.escapeIdentifier(channel)}; select pg_advisory_lock(${connected.key})`);
      await connected.#ping();
      return connected;
    } catch (error) {
      await connected.close();
      throw error;
    }
  }

  /** Resolves when the connection must be given up. `silent`: the server no longer answers. */
  async untilEnd(stop: AbortSignal): Promise<'ended' | 'silent'> {
    const ended = AbortSignal.any([stop, this.#lost.signal]);
    for (;;) {
      await rest(pingEveryMs, ended);
      if (ended.aborted) return 'ended';
      const answer = this.#ping().then(
        () => 'alive' as const,
        () => 'ended' as const,
      );
      const heard = await orLate(answer, pingWithinMs, { ref: false });
      if (heard !== 'alive') return heard === late ? 'silent' : heard;
    }
  }

  async #ping(): Promise<void> {
    const { rows } = await this.#client.query<{ pid: number }>('select pg_backend_pid() as pid');
    const pid = rows[0]?.pid;
    this.#pid ??= pid;
    if (pid !== this.#pid) this.exclusive = false;
  }

  async close(): Promise<void> {
    // A server that is gone never answers the end of the connection.
    const ended = this.#client.end().catch(() => undefined);
    await orLate(ended, goodbyeMs, { ref: false });
    this.#client.connection.stream.destroy();
  }
}
