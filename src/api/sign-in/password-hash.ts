import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';

/** A hash of a password by scrypt, with its parameters. */
export interface PasswordHash {
  /** Cost, a power of two. */
  readonly cost: number;
  readonly blockSize: number;
  readonly parallel: number;
  readonly salt: Buffer;
  readonly key: Buffer;
}

/** 128 MiB and some tenths of a second, as OWASP asks for. */
const normal = { cost: 2 ** 17, blockSize: 8, parallel: 1 } as const;
const form = /^scrypt\$(\d{5,7})\$(\d{1,2})\$(\d{1,2})\$([\w-]{22,86})\$([\w-]{43,86})$/;
/** What a request may cost. */
const mostMemory = 256 * 1024 * 1024;

/** @returns nothing if it is no such hash, or weaker or more expensive than one may be */
export function parsePasswordHash(given: string): PasswordHash | undefined {
  const [, cost, blockSize, parallel, salt = '', key = ''] = form.exec(given) ?? [];
  const read = {
    cost: Number(cost),
    blockSize: Number(blockSize),
    parallel: Number(parallel),
    salt: Buffer.from(salt, 'base64url'),
    key: Buffer.from(key, 'base64url'),
  };
  const strong = read.cost >= 2 ** 14 && Number.isInteger(Math.log2(read.cost)) && read.blockSize >= 8;
  const bearable = memoryOf(read) <= mostMemory && read.parallel >= 1 && read.parallel <= 4;
  return strong && bearable ? read : undefined;
}

/** Hashes a password: `scrypt$<cost>$<block size>$<parallel>$<salt>$<key>`, salt and key in base64url. */
export async function hashPassword(password: string): Promise<string> {
  const hash = { ...normal, salt: randomBytes(16), key: Buffer.alloc(32) };
  const key = await derive(password, hash);
  const parts = [
    hash.cost,
    hash.blockSize,
    hash.parallel,
    hash.salt.toString('base64url'),
    key.toString('base64url'),
  ];
  return `scrypt$${parts.join('$')}`;
}

/** Whether it is the password. Takes as long if it is not. */
export async function isPassword(password: string, hash: PasswordHash): Promise<boolean> {
  return timingSafeEqual(await derive(password, hash), hash.key);
}

function derive(password: string, hash: PasswordHash): Promise<Buffer> {
  const { blockSize, cost, key, parallel, salt } = hash;
  const options = { N: cost, r: blockSize, p: parallel, maxmem: 2 * memoryOf(hash) };
  return new Promise((resolve, reject) => {
    // A keyboard may send one letter in several ways.
    scrypt(password.normalize('NFKC'), salt, key.length, options, (error, derived) =>
      error === null ? resolve(derived) : reject(error),
    );
  });
}

function memoryOf({ blockSize, cost }: Pick<PasswordHash, 'blockSize' | 'cost'>): number {
  return 128 * cost * blockSize;
}
