import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { BrokerTopics } from '../../brokers/capabilities.ts';
import type { Transport } from '../../brokers/transport.ts';
import { type Config, transportOf } from '../../config/config.ts';
import type { CertificateEnd } from '../../core/certificate-end.ts';
import { OutboxError } from '../../core/errors.ts';
import { late, orLate } from '../../core/or-late.ts';
import { OwnRow } from '../../core/own-row.ts';
import { reasonOf } from '../../core/reason.ts';
import type { Database } from '../../store/database/database.ts';
import { readClockOffset } from '../../store/doctor/server.ts';
import { lostRows } from '../../store/installation/emptied.ts';
import {
  type GroupLag,
  readGroupNames,
  removeRelay,
  type ServerView,
  writeRelay,
} from '../../store/installation/relays.ts';

/** How often a relay records that it runs. */
export const beatMs = 5_000;
/** A server that takes longer to answer counts as unreachable until it has answered. */
const answerWithinMs = 4_000;
/** What is said of a server that takes longer. */
export const silentFor = { ms: answerWithinMs, error: `no answer within ${answerWithinMs / 1_000} s` };

/** A server, and a check of whether it answers. */
export interface AskedServer extends Pick<ServerView, 'server' | 'address'> {
  /** Resolves to what it lacks, `null` if nothing. Rejects with the reason if it does not answer. */
  readonly ask: () => Promise<string | null>;
}

/** What a check found out. */
export interface CheckedServer extends ServerView {
  /** It did not answer, so that waiting for it may take long. */
  readonly away: boolean;
}

export interface PresenceInput {
  readonly database: Database;
  readonly config: Pick<Config, 'topics' | 'transports' | 'groups'>;
  readonly temporal: AskedServer;
  /** Those that were loaded at the start. */
  readonly certificates: readonly CertificateEnd[];
  /** Called after each check, with or without an answer. */
  readonly asked: (checked: CheckedServer) => void;
  /** Called after each look at the database, with the error if something has emptied its tables. */
  readonly looked?: (lost: OutboxError | undefined) => void;
}

/** Records in the database that a relay runs, and which of its servers answer, for `status` and `show`. Nothing depends on it. */
export function keepPresence(input: PresenceInput): { stop(): Promise<void> } {
  const id = randomUUID();
  const presence = new Presence(id, input);
  const row = new OwnRow({
    beatMs,
    learn: (stopping) => presence.ask(stopping),
    row: () => presence.servers,
    write: (servers) => (servers === undefined ? removeRelay(input.database, id) : presence.write(servers)),
  });
  row.start();
  return row;
}

class Presence {
  /** As the last check has found them. */
  servers: readonly ServerView[] = [];
  readonly #id: string;
  readonly #input: PresenceInput;
  readonly #asked: readonly AskedServer[];
  #lags: readonly GroupLag[] = [];
  #asking: Promise<void> | undefined;

  constructor(id: string, input: PresenceInput) {
    this.#id = id;
    this.#input = input;
    this.#asked = [input.temporal, ...transportServers(input.config)];
  }

  async ask(stopping: AbortSignal): Promise<void> {
    // One query for lags at a time, even if a broker does not answer.
    this.#asking ??= this.#askLags().finally(() => {
      this.#asking = undefined;
    });
    const asked = orLate(this.#asking, answerWithinMs);
    const views = this.#asked.map(async (server) => {
      const { away, ...view } = await check(server);
      if (!stopping.aborted) this.#input.asked({ ...view, away });
      return view;
    });
    // Lags are known already with the first beat: what is missing for a moment looks as if it were gone.
    [this.servers] = await Promise.all([Promise.all(views), asked]);
  }

  async write(servers: readonly ServerView[]): Promise<void> {
    const { certificates, database, looked } = this.#input;
    if (looked !== undefined) await lostRows(database).then(looked, () => undefined);
    await writeRelay(database, {
      id: this.#id,
      host: hostname(),
      pid: process.pid,
      servers,
      lags: this.#lags,
      certificates,
      clockOffsetMs: await readClockOffset(database),
    });
  }

  async #askLags(): Promise<void> {
    const { config, database } = this.#input;
    try {
      // Groups with an inbox elsewhere are known by the configuration only.
      const named = Object.keys(config.groups ?? {});
      const groups = [...new Set([...(await readGroupNames(database)), ...named])];
      const lags = await Promise.all(
        // The checks of the servers show which broker does not answer; an old lag would mislead.
        Object.values(config.transports).map((transport) =>
          lagsAt(config, transport, groups).catch(() => []),
        ),
      );
      this.#lags = lags.flat();
    } catch {
      this.#lags = [];
    }
  }
}

async function lagsAt(
  config: PresenceInput['config'],
  transport: Transport,
  groups: readonly string[],
): Promise<readonly GroupLag[]> {
  const names = topicsByAddress(config, transport);
  if (transport.offsets === undefined || names.size === 0) return [];
  const addresses = [...names.keys()];
  const missing = (await transport.topics?.missing(addresses)) ?? [];
  const there = addresses.filter((address) => !missing.includes(address));
  const behind = await transport.offsets.lags(groups, there);
  // What waits at an address may be of any topic that is sent there.
  return behind.flatMap(({ address, ...lag }) =>
    (names.get(address) ?? []).map((topic) => ({ ...lag, topic })),
  );
}

/** One check per transport, whatever the number of its topics. */
function transportServers(config: PresenceInput['config']): readonly AskedServer[] {
  return Object.entries(config.transports).flatMap(([name, transport]) => {
    const addresses = [...topicsByAddress(config, transport).keys()];
    const [first] = addresses;
    if (first === undefined) return [];
    const ask = async (): Promise<string | null> => {
      if (transport.topics !== undefined) return missingOf(transport.topics, addresses);
      await transport.probe(first);
      return null;
    };
    return [{ server: name, address: transport.endpoint ?? '', ask }];
  });
}

async function missingOf(topics: BrokerTopics, addresses: readonly string[]): Promise<string | null> {
  const missing = await topics.missing(addresses);
  return missing.length === 0 ? null : `It has no topic ${missing.join(', ')}: create it`;
}

/** The addresses that a transport delivers to, each with the topics that are sent there. */
function topicsByAddress(
  config: PresenceInput['config'],
  transport: Transport,
): ReadonlyMap<string, readonly string[]> {
  const mine = config.topics.filter((topic) => transportOf(config, topic).transport === transport);
  const names = new Map<string, string[]>();
  for (const { name, rules } of mine) names.set(rules.address, [...(names.get(rules.address) ?? []), name]);
  return names;
}

async function check({ server, address, ask }: AskedServer): Promise<CheckedServer> {
  const found = ask().then(
    // A server that answers is there, whatever one of its addresses is: a lane that waits for that has a hold.
    (lacks) => ({ error: null, away: false, ...(lacks !== null && { lacks }) }),
    (error: unknown) => ({
      // The server and its address are shown next to it.
      error: reasonOf(error instanceof OutboxError && error.cause instanceof Error ? error.cause : error),
      away: true,
    }),
  );
  const answer = await orLate(found, answerWithinMs);
  const silent = { error: silentFor.error, away: true };
  return { server, address, ...(answer === late ? silent : answer) };
}
