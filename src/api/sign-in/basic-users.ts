import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { signInTries } from '../../app/operations/sign-in-tries.ts';
import { type DatabaseConfig, databaseOptions } from '../../config/database-config.ts';
import { OutboxError } from '../../core/errors.ts';
import { listOf, object, type Table } from '../../core/options/collections.ts';
import { type Lazy, lazy } from '../../core/options/lazy.ts';
import { optionTable } from '../../core/options/option-table.ts';
import { asGiven, func, optional, value, where } from '../../core/options/values.ts';
import { Slots } from '../../core/slots.ts';
import type { Authentication, Caller } from '../authentication.ts';
import { remoteAddress } from '../remote-address.ts';
import { isPassword, type PasswordHash, parsePasswordHash } from './password-hash.ts';
import {
  callerName,
  callerOf,
  differentNames,
  digestOf,
  isCallerName,
  type Rights,
  rightsTable,
} from './rights.ts';
import { SharedProofs } from './shared-proofs.ts';

/** A person with a password. */
export interface BasicUser extends Rights {
  /** As it is typed in, and for the audit: 1 to 200 characters, no colon. */
  readonly name: string;
  /** `scrypt$…`, as `temporal-outbox api-password` prints it. */
  readonly hash: Lazy<string>;
}

/** Options of {@link basicUsers}. */
export interface BasicUserOptions {
  /** At least one. */
  readonly users: readonly BasicUser[];
  /** The outbox database, which counts wrong tries for all processes. */
  readonly database: DatabaseConfig;
  /**
   * The address that a request comes from, to count wrong tries by; behind a proxy from the header that your proxy sets, and nobody
   * else can. @defaultValue that of the connection, with `apiListener()` too; where there is none, all share one
   */
  readonly address?: (request: Request) => string | undefined;
}

const user = object({
  ...rightsTable,
  name: where(callerName, 'must not contain a colon', (given) => !given.includes(':')),
  hash: lazy(
    value('a hash by scrypt, as `temporal-outbox api-password` prints it', (given) =>
      typeof given === 'string' ? parsePasswordHash(given) : undefined,
    ),
  ),
} satisfies Table<BasicUser>);

const options = optionTable('basicUsers()', {
  users: where(
    listOf(user, 'a list of users, at least one', { least: 1 }),
    'must have different names',
    differentNames,
  ),
  database: asGiven<DatabaseConfig>(databaseOptions),
  address: optional(func<NonNullable<BasicUserOptions['address']>>()),
} satisfies Table<BasicUserOptions>);

/** Wrong tries a minute: of a user from an address, from an address, and of a user from all addresses. */
const most = { both: 5, address: 20, user: 50 } as const;
/** Each takes 128 MiB and a processor. */
const atOnce = 2;
const longestPassword = 1_024;
/** How long a right password is not hashed again: a browser sends it with every request. */
const rememberedMs = 60_000;

/**
 * Proves people by name and password, which browsers ask for and send with every request (HTTP Basic): for small places, behind TLS
 * only. Five wrong tries a minute of a name from an address end in 429, even with the right password then; the database counts them for
 * all processes, so while it is away nobody new is proved. Neither time nor answer discloses whether a name exists.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID`
 */
export function basicUsers(given: BasicUserOptions): Authentication {
  const { address = remoteAddress, database, users } = options.read(given);
  const tries = signInTries(database);
  const slots = new Slots(atOnce);
  const proofs = new Proofs();
  const shared = new SharedProofs<Caller | undefined>();
  // Of an unknown name, so that it takes as long as a known one.
  const standIn = (name: string) => users[(proofs.digest(name, '')[0] ?? 0) % users.length];
  const prove = async ({ name, password }: Credentials, from: string, unwanted: AbortSignal) => {
    // First the slot: a try counts as wrong until it is over, so one that merely waits would keep out others of its address.
    const slot = await slots.take(unwanted);
    if (slot === undefined) return undefined;
    try {
      const right = await tries.begin([
        { what: countedAs('both', from, name), most: most.both },
        { what: countedAs('address', from), most: most.address },
        { what: countedAs('user', name), most: most.user },
      ]);
      if (right === undefined) throw tooMany();
      const found = users.find((one) => one.name === name);
      const hash: PasswordHash | undefined = (found ?? standIn(name))?.hash();
      if (hash === undefined || !(await isPassword(password, hash)) || found === undefined) return undefined;
      await right();
      proofs.add(name, password);
      return callerOf(name, found, true);
    } finally {
      slot.free();
    }
  };
  return {
    challenge: 'Basic realm="temporal-outbox", charset="UTF-8"',
    async caller(request) {
      const sent = credentialsOf(request);
      if (sent === undefined) return undefined;
      const { name, password } = sent;
      const remembered = users.find((one) => one.name === name && proofs.has(name, password));
      if (remembered !== undefined) return callerOf(name, remembered, true);
      const from = address(request) ?? '';
      // Of each address on its own, as wrong tries are counted: a limited one has no part in what another one proves.
      const what = `${proofs.digest(name, password).toString('hex')} ${from}`;
      return shared.of(what, request.signal, (unwanted) => prove(sent, from, unwanted));
    },
    close: () => tries.close(),
  };
}

const countedAs = (...parts: readonly string[]): string => digestOf(JSON.stringify(parts)).toString('hex');

function tooMany(): OutboxError {
  return new OutboxError(
    'OUTBOX_REQUEST_LIMITED',
    'There were too many wrong tries to sign in within a minute.',
  );
}

interface Credentials {
  readonly name: string;
  readonly password: string;
}

function credentialsOf(request: Request): Credentials | undefined {
  const encoded = /^Basic ([\w+/-]{1,4096}={0,2})$/i.exec(request.headers.get('authorization') ?? '')?.[1];
  const [, name, password] = /^([^:]*):(.*)$/s.exec(Buffer.from(encoded ?? '', 'base64').toString()) ?? [];
  if (!isCallerName(name) || password === undefined || password.length > longestPassword) return undefined;
  return { name, password };
}

/** Right passwords of the last minute, as digests under a key that only this process has, and only in memory. */
class Proofs {
  readonly #key = randomBytes(32);
  readonly #seen = new Map<string, { readonly digest: Buffer; readonly until: number }>();

  digest(name: string, password: string): Buffer {
    return createHmac('sha256', this.#key)
      .update(JSON.stringify([name, password]))
      .digest();
  }

  has(name: string, password: string): boolean {
    const seen = this.#seen.get(name);
    if (seen === undefined || seen.until < performance.now()) return false;
    return timingSafeEqual(seen.digest, this.digest(name, password));
  }

  /** @param name of a user, so that there are not more than these */
  add(name: string, password: string): void {
    this.#seen.set(name, { digest: this.digest(name, password), until: performance.now() + rememberedMs });
  }
}
