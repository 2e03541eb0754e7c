import { randomBytes, scryptSync } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Authentication } from '../../../../src/api/authentication.ts';
import { type BasicUserOptions, basicUsers } from '../../../../src/api/sign-in/basic-users.ts';
import { hashPassword, parsePasswordHash } from '../../../../src/api/sign-in/password-hash.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/fixtures/database.ts';

let testDatabase: TestDatabase;
let opened: Authentication[] = [];
beforeAll(async () => {
  testDatabase = await createTestDatabase();
});
afterAll(() => testDatabase.drop());
afterEach(async () => {
  await Promise.all(opened.map(async (one) => one.close?.()));
  opened = [];
  await testDatabase.database.query('truncate outbox.sign_in_try');
});

/** A hash of the lowest cost that is accepted. */
function hashOf(password: string, cost = 2 ** 14): string {
  const salt = randomBytes(16);
  const key = scryptSync(password, salt, 32, { N: cost, r: 8, p: 1, maxmem: 256 * cost * 8 });
  return `scrypt$${cost}$8$1$${salt.toString('base64url')}$${key.toString('base64url')}`;
}

const password = 'correct: horse, battery ünd staple';
const hash = hashOf(password);
const asked = (name: string, given: string, from = '192.0.2.1'): Request =>
  new Request('https://outbox.test/me', {
    headers: {
      authorization: `Basic ${Buffer.from(`${name}:${given}`).toString('base64')}`,
      'x-from': from,
    },
  });

/** As one process of the API has it. */
function users(more: Partial<BasicUserOptions> = {}): Authentication {
  const made = basicUsers({
    users: [
      { name: 'ada', hash, role: 'operator' },
      { name: 'eve', hash: () => hash, role: 'viewer', topics: ['orders'] },
    ],
    database: { url: testDatabase.url },
    address: (request) => request.headers.get('x-from') ?? undefined,
    ...more,
  });
  opened.push(made);
  return made;
}

const tries = () =>
  testDatabase.database.query<{ readonly what: string }>('select what from outbox.sign_in_try');
const limited = { code: 'OUTBOX_REQUEST_LIMITED' };

test('name and password prove a person, again and again, and nothing else does', async () => {
  const made = users();
  const ada = { name: 'ada', role: 'operator', payloads: false, ambient: true };
  for (let time = 0; time < 10; time += 1) expect(await made.caller(asked('ada', password))).toEqual(ada);
  expect(await made.caller(asked('eve', password))).toMatchObject({ name: 'eve', topics: ['orders'] });
  expect(await made.caller(asked('ada', `${password} `))).toBeUndefined();
  expect(await made.caller(asked('Ada', password))).toBeUndefined();
  expect(await made.caller(asked('ada', hash))).toBeUndefined();
  const headers = { authorization: 'Basic YWRh' };
  expect(await made.caller(new Request('https://outbox.test/me', { headers }))).toBeUndefined();
  expect(await made.caller(new Request('https://outbox.test/me'))).toBeUndefined();
});

test('after five wrong tries in a minute not even the right password is tried, known name or not', async () => {
  const made = users();
  for (const name of ['ada', 'nobody']) {
    for (let time = 0; time < 5; time += 1)
      expect(await made.caller(asked(name, `wrong ${time}`))).toBeUndefined();
    await expect(made.caller(asked(name, password))).rejects.toMatchObject(limited);
  }
  // Others, and the same person from elsewhere, are not kept out.
  expect(await made.caller(asked('eve', password))).toMatchObject({ name: 'eve' });
  expect(await made.caller(asked('ada', password, '192.0.2.2'))).toMatchObject({ name: 'ada' });
});

test('tries at the same time, at several processes, are no way around the limit', {
  tags: ['callers-prove-themselves'],
}, async () => {
  const processes = [users(), users(), users()];
  const results = await Promise.allSettled(
    Array.from({ length: 12 }, (_, n) => (processes[n % 3] ?? users()).caller(asked('ada', `wrong ${n}`))),
  );
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
  // A process that starts again has not forgotten them.
  await expect(users().caller(asked('ada', password))).rejects.toMatchObject(limited);
});

test('a right password is no wrong one more, and takes none back', async () => {
  const made = users();
  for (let time = 0; time < 4; time += 1) await made.caller(asked('ada', `wrong ${time}`));
  expect(await made.caller(asked('ada', password))).toMatchObject({ name: 'ada' });
  expect(await made.caller(asked('ada', 'wrong'))).toBeUndefined();
  await expect(made.caller(asked('ada', 'wrong'))).rejects.toMatchObject(limited);
});

test('right passwords that are asked for at the same time are all right, of one user or of many at one address', {
  tags: ['callers-prove-themselves'],
}, async () => {
  const all = Array.from({ length: 25 }, (_, n) => `user ${n}`);
  const made = users({ users: all.map((name) => ({ name, hash, role: 'viewer' })) });
  const one = await Promise.all(Array.from({ length: 12 }, () => made.caller(asked('user 0', password))));
  expect(one.map((caller) => caller?.name)).toEqual(Array.from({ length: 12 }, () => 'user 0'));
  const many = await Promise.all(all.map((name) => made.caller(asked(name, password))));
  expect(many.map((caller) => caller?.name)).toEqual(all);
  expect(await tries()).toEqual([]);
});

test('one wrong password that is asked for many times at once is one try, and different ones are not', {
  tags: ['callers-prove-themselves'],
}, async () => {
  const made = users();
  const equal = await Promise.all(Array.from({ length: 12 }, () => made.caller(asked('ada', 'wrong'))));
  expect(new Set(equal)).toEqual(new Set([undefined]));
  expect(await tries()).toHaveLength(3);
  const different = await Promise.allSettled(
    Array.from({ length: 12 }, (_, n) => made.caller(asked('ada', `wrong ${n}`))),
  );
  expect(different.filter(({ status }) => status === 'fulfilled')).toHaveLength(4);
  expect(await tries()).toHaveLength(15);
});

test('a request that is given up takes no proof from others, and does not stay in the queue', {
  tags: ['callers-prove-themselves'],
}, async () => {
  const made = users();
  // These have the processors first.
  const before = ['a', 'b'].map((name) => made.caller(asked(name, 'wrong')));
  const leaving = new AbortController();
  const left = [
    made.caller(new Request(asked('ada', password), { signal: leaving.signal })),
    made.caller(new Request(asked('eve', 'wrong'), { signal: leaving.signal })),
  ];
  const staying = made.caller(asked('ada', password));
  leaving.abort();
  const [proved] = await Promise.all([staying, ...before, ...left]);
  expect(proved).toMatchObject({ name: 'ada' });
  expect(await tries()).toHaveLength(6);
});

test('a minute after a wrong try there is room for another, and the old ones go', {
  tags: ['callers-prove-themselves'],
}, async () => {
  const made = users();
  for (let time = 0; time < 5; time += 1) await made.caller(asked('ada', `wrong ${time}`));
  const age = (seconds: number) =>
    testDatabase.database.query(
      `update outbox.sign_in_try set at = clock_timestamp() - $1 * interval '1 second'`,
      [seconds],
    );
  await age(58);
  await expect(made.caller(asked('ada', password))).rejects.toMatchObject(limited);
  await age(61);
  expect(await made.caller(asked('ada', 'wrong'))).toBeUndefined();
  expect(await tries()).toHaveLength(3);
});

test('a try that is refused counts for nothing', async () => {
  const made = users();
  for (let time = 0; time < 5; time += 1) await made.caller(asked('ada', `wrong ${time}`));
  for (let time = 0; time < 20; time += 1)
    await expect(made.caller(asked('ada', 'wrong'))).rejects.toMatchObject(limited);
  expect(await tries()).toHaveLength(15);
  // The address has room for 15 more.
  expect(await made.caller(asked('eve', 'wrong'))).toBeUndefined();
});

test('the database has neither names nor addresses nor passwords of tries', async () => {
  await users().caller(asked('hunter2', 'wrong', '198.51.100.7'));
  const told = await tries();
  expect(told.map(({ what }) => what)).toEqual(
    told.map(() => expect.stringMatching(/^[\da-f]{64}$/) as string),
  );
  expect(new Set(told.map(({ what }) => what)).size).toBe(3);
});

test('while the database is away nobody new is proved, and who was a moment ago still is', async () => {
  const made = users();
  const away = users({ database: { url: 'postgresql://nobody:hidden@127.0.0.1:9/outbox' } });
  await expect(away.caller(asked('ada', password))).rejects.toMatchObject({
    code: 'OUTBOX_SERVER_UNAVAILABLE',
  });
  await made.caller(asked('ada', password));
  await testDatabase.database.query('alter table outbox.sign_in_try rename to hidden');
  expect(await made.caller(asked('ada', password))).toMatchObject({ name: 'ada' });
  await expect(made.caller(asked('eve', password))).rejects.toMatchObject({
    code: 'OUTBOX_MIGRATION_MISSING',
  });
  await testDatabase.database.query('alter table outbox.hidden rename to sign_in_try');
});

test('an address may not try many names, nor many addresses one name', async () => {
  const made = users();
  const names = await Promise.allSettled(
    Array.from({ length: 25 }, (_, n) => made.caller(asked(`name ${n}`, 'wrong'))),
  );
  expect(names.filter(({ status }) => status === 'fulfilled')).toHaveLength(20);
  const addresses = await Promise.allSettled(
    Array.from({ length: 55 }, (_, n) => made.caller(asked('ada', 'wrong', `198.51.100.${n}`))),
  );
  expect(addresses.filter(({ status }) => status === 'fulfilled')).toHaveLength(50);
});

test('an unknown name takes as long as a known one', { tags: ['callers-prove-themselves'] }, async () => {
  const made = users();
  const times: Record<'ada' | 'nobody', number[]> = { ada: [], nobody: [] };
  // The shortest of each: what a busy machine adds differs.
  const ratio = (): number => Math.min(...times.nobody) / Math.min(...times.ada);
  // In turns, each from an address of its own, until there were enough without anything else in between.
  for (let round = 0; round < 45 && (round < 10 || ratio() <= 0.5 || ratio() >= 2); round += 1) {
    for (const name of ['ada', 'nobody'] as const) {
      const began = performance.now();
      await made.caller(asked(name, 'wrong', `${name} ${round}`));
      times[name].push(performance.now() - began);
    }
  }
  expect(ratio()).toBeGreaterThan(0.5);
  expect(ratio()).toBeLessThan(2);
});

test('a password is hashed with 128 MiB and a salt of its own', async () => {
  const [one, other] = [await hashPassword(password), await hashPassword(password)];
  expect(one).toMatch(/^scrypt\$131072\$8\$1\$[\w-]{22}\$[\w-]{43}$/);
  expect(one).not.toBe(other);
  const made = users({ users: [{ name: 'ada', hash: one, role: 'viewer' }] });
  expect(await made.caller(asked('ada', password))).toMatchObject({ name: 'ada' });
});

test.each([
  { what: 'weak', given: hashOf(password, 2 ** 13) },
  { what: 'expensive', given: hash.replace('$16384$8', '$1048576$8') },
  { what: 'not a power of two', given: hash.replace('16384', '16385') },
  { what: 'a password', given: password },
  { what: 'an MD5', given: '$apr1$abc$defghijkl' },
])('a hash that is $what is refused', ({ given }) => {
  expect(parsePasswordHash(given)).toBeUndefined();
  expect(() => users({ users: [{ name: 'ada', hash: given, role: 'viewer' }] })).toThrow(
    'The option "users[0].hash" of basicUsers() must be a hash by scrypt',
  );
});

test.each([
  { what: 'a colon', names: ['a:b'] },
  { what: 'the same name', names: ['ada', 'ada'] },
  { what: 'no users', names: [] },
])('$what is refused', ({ names }) => {
  const all = names.map((name) => ({ name, hash, role: 'viewer' as const }));
  expect(() => users({ users: all })).toThrow('of basicUsers() must');
});
