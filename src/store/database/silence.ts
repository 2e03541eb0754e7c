import { Socket } from 'node:net';
import pg from 'pg';
import { addressOfDatabase } from '../../core/database-address.ts';
import { OutboxError } from '../../core/errors.ts';
import { late, orLate } from '../../core/or-late.ts';
import { rest } from '../../core/rest.ts';
import { clientConfig } from './client-config.ts';
import type { DatabaseAddress } from './database-address.ts';

/** Milliseconds. */
export interface SilenceLimits {
  /** A statement that is not answered within this time is checked, and then again at this interval. */
  readonly askEveryMs: number;
  /** Time limit of such a check. If it is exceeded, open statements without a sign of life are given up at once. */
  readonly askWithinMs: number;
  /** A statement without a sign of life for this long is given up, at the next check. */
  readonly silentMs: number;
}

/**
 * For statements of operators. They may count or rewrite millions of rows for minutes, so their duration proves nothing,
 * but some seconds of silence do.
 */
export const operatorSilence: SilenceLimits = { askEveryMs: 1_000, askWithinMs: 3_000, silentMs: 6_000 };

/** A statement that has not been answered. */
interface Unanswered {
  readonly client: pg.PoolClient;
  readonly sinceMs: number;
  /** Time of its last sign of life, and the number of bytes transferred by then. */
  heardMs: number;
  bytes: number;
  /** The server has listed its backend: from then on it must stay listed. */
  known: boolean;
}

/** The result of a check. */
interface CheckResult {
  /** The state of the backends, by pid; `undefined`: no answer. */
  readonly backends?: ReadonlyMap<number, { readonly idle: boolean }>;
  /** Time of the last answer on the checking connection, which has become silent. */
  readonly lostSinceMs?: number;
}

/**
 * Gives up statements whose connection has died silently; other statements have no time limit.
 *
 * TCP alone would wait for a quarter of an hour, and a busy connection cannot be used for a check. So the server is queried
 * over another one. Signs of life of a statement are transferred bytes, and a backend that is active. When the checking
 * connection becomes silent, open statements without a sign of life are given up at once. Behind a pooler that assigns its
 * own connection ids, any answer counts as a sign of life: then only a silent pooler is noticed.
 */
export class Silence {
  readonly #at: DatabaseAddress;
  readonly #limits: SilenceLimits;
  readonly #unanswered = new Set<Unanswered>();
  #asking = false;

  constructor(at: DatabaseAddress, limits: SilenceLimits) {
    this.#at = at;
    this.#limits = limits;
  }

  /** Runs one statement on this connection. @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE` when it is given up */
  async during<Result>(client: pg.PoolClient, statement: () => Promise<Result>): Promise<Result> {
    const now = performance.now();
    const one = { client, sinceMs: now, heardMs: now, bytes: bytesOf(client), known: false };
    this.#unanswered.add(one);
    if (!this.#asking) void this.#ask();
    try {
      return await statement();
    } finally {
      this.#unanswered.delete(one);
    }
  }

  async #ask(): Promise<void> {
    this.#asking = true;
    const line = new AskingLine(this.#at, this.#limits.askWithinMs);
    while (this.#unanswered.size > 0) {
      // Most statements are answered long before this.
      await rest(this.#limits.askEveryMs, undefined, { ref: false });
      const due = performance.now() - this.#limits.askEveryMs;
      const old = [...this.#unanswered].filter(({ sinceMs }) => sinceMs <= due);
      if (old.length > 0) this.#judge(old, await line.ask(old.map(({ client }) => pidOf(client))));
    }
    this.#asking = false;
    line.close();
  }

  #judge(old: readonly Unanswered[], { backends, lostSinceMs = 0 }: CheckResult): void {
    const now = performance.now();
    for (const one of old) {
      const lost = one.sinceMs <= lostSinceMs || now - one.heardMs >= this.#limits.silentMs;
      if (gaveSign(one, backends)) one.heardMs = now;
      else if (lost && this.#unanswered.has(one))
        one.client.connection.stream.destroy(this.#silent(now - one.heardMs));
    }
  }

  #silent(ms: number): OutboxError {
    const { address, database } = addressOfDatabase(this.#at.url);
    return new OutboxError(
      'OUTBOX_SERVER_UNAVAILABLE',
      `PostgreSQL does not answer at ${address} (database "${database}"): no sign of a statement for ${Math.round(ms / 1_000)} s. It is unknown whether it was executed.`,
      { details: { server: 'PostgreSQL', address, database } },
    );
  }
}

function gaveSign(one: Unanswered, backends: CheckResult['backends']): boolean {
  const bytes = bytesOf(one.client);
  const moved = bytes !== one.bytes;
  one.bytes = bytes;
  if (moved || backends === undefined) return moved;
  const backend = backends.get(pidOf(one.client));
  if (backend === undefined) return !one.known;
  one.known = true;
  return !backend.idle;
}

/** Number of bytes received and sent. */
function bytesOf({ connection: { stream } }: pg.PoolClient): number {
  return stream instanceof Socket ? stream.bytesRead + stream.bytesWritten - stream.writableLength : 0;
}

/** The pid of the backend, as the server announced it on connecting. */
function pidOf(client: pg.PoolClient): number {
  return 'processID' in client && typeof client.processID === 'number' ? client.processID : 0;
}

/** The checking connection; opened when first needed, and reopened after a failure. */
class AskingLine {
  readonly #at: DatabaseAddress;
  readonly #withinMs: number;
  #client: pg.Client | undefined;
  #answeredMs: number | undefined;

  constructor(at: DatabaseAddress, withinMs: number) {
    this.#at = at;
    this.#withinMs = withinMs;
  }

  async ask(pids: readonly number[]): Promise<CheckResult> {
    try {
      this.#client ??= await this.#connect();
      const asked = this.#client.query<{ pid: number; idle: boolean }>(
        `select pid, coalesce(starts_with(state, 'idle'), false) as idle from pg_stat_activity where pid = any($1)`,
        [[...pids]],
      );
      const answer = await orLate(asked, this.#withinMs, { ref: false });
      if (answer === late) return this.#silent(asked);
      this.#answeredMs = performance.now();
      return { backends: new Map(answer.rows.map(({ pid, idle }) => [pid, { idle }])) };
    } catch (error) {
      this.close();
      // A server that refuses the connection, for example because it is full, is alive.
      return error instanceof pg.DatabaseError ? { backends: new Map() } : {};
    }
  }

  close(): void {
    // A server that is gone never answers the end of the connection.
    this.#client?.connection.stream.destroy();
    this.#client = undefined;
    this.#answeredMs = undefined;
  }

  #silent(asked: Promise<unknown>): CheckResult {
    const lostSinceMs = this.#answeredMs;
    asked.catch(() => undefined);
    this.close();
    return lostSinceMs === undefined ? {} : { lostSinceMs };
  }

  async #connect(): Promise<pg.Client> {
    const client = new pg.Client({
      ...clientConfig(this.#at),
      application_name: 'temporal-outbox question',
      connectionTimeoutMillis: this.#withinMs,
    });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  }
}
