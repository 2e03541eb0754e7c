import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PrismaClient } from '../../../dev/generated/shop/client.ts';
import { clientOf, permanent, receive, type Transaction } from '../../../src/http.ts';
import {
  createEmptyDatabase,
  createTestDatabase,
  type TestDatabase,
} from '../../support/fixtures/database.ts';
import { signed, webhookSecret } from '../../support/fixtures/webhook.ts';

type Client = Parameters<typeof receive<Transaction>>[1]['client'];
type Work = (tx: Transaction) => Promise<unknown>;

const run =
  (query: string): Work =>
  async (tx) =>
    tx.$queryRawUnsafe(query);

/** What a client of a database of its own is made for, and closed with. */
interface Opened {
  readonly client: Client;
  readonly close: () => Promise<void>;
}

const ways: Readonly<Record<'prisma' | 'pool', (url: string) => Opened>> = {
  prisma: (url) => {
    const adapter = new PrismaPg({ connectionString: url, max: 1 });
    const client = new PrismaClient({ adapter, transactionOptions: { maxWait: 5_000, timeout: 20_000 } });
    return { client, close: () => client.$disconnect() };
  },
  pool: (url) => {
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    return { client: clientOf(pool), close: () => pool.end() };
  },
};
const names = ['prisma', 'pool'] as const;

let made: TestDatabase;
beforeAll(async () => {
  made = await createTestDatabase();
  await made.database.query('create table effect (id int primary key)');
});
afterAll(() => made.drop());

/** Status, `retry-after`, and what was reported, of one message. */
async function answerOf(client: Client, work: Work): Promise<readonly [number, string | null, unknown]> {
  const reported: unknown[] = [];
  const { request } = signed('{}');
  const options = {
    client,
    group: 'shop',
    secret: webhookSecret('k'),
    report: (e: unknown) => reported.push(e),
  };
  const { headers, status } = await receive(request(), options, work);
  expect(reported.length).toBe(1);
  return [status, headers.get('retry-after'), reported[0]];
}

const nothing: Work = () => Promise.resolve();
const away = [503, '5', expect.anything()];
const conflict = [503, '1', expect.anything()];
const failed = [500, null, expect.anything()];

test.each(names)(
  'over %s, an unusable database is answered so that the sender waits',
  { tags: ['http-outage-spends-no-attempts'] },
  async (way) => {
    const gone = new URL(made.url);
    gone.port = '1';
    const absent = new URL(made.url);
    absent.pathname = '/no_such_database';
    const empty = await createEmptyDatabase();
    for (const url of [gone.href, absent.href, empty.url]) {
      const { client, close } = ways[way](url);
      expect([url, ...(await answerOf(client, nothing))]).toEqual([url, ...away]);
      await close();
    }
    await empty.drop();
  },
);

test.each(names)(
  'over %s, a full pool, an ended connection and a conflict are answered so that the sender waits',
  { tags: ['http-outage-spends-no-attempts'] },
  async (way) => {
    const { client, close } = ways[way](made.url);
    let release = (): void => undefined;
    const taken = new Promise<void>((resolve) => {
      const held = new Promise<void>((free) => (release = free));
      void client.$transaction(() => {
        resolve();
        return held;
      });
    });
    await taken;
    expect(await answerOf(client, nothing)).toEqual(away);
    release();
    const ended = run('select pg_terminate_backend(pg_backend_pid())');
    expect(await answerOf(client, ended)).toEqual(away);
    const stale = run(`do $$ begin raise exception 'could not serialize' using errcode = '40001'; end $$`);
    expect(await answerOf(client, stale)).toEqual(conflict);
    await close();
  },
);

test.each(names)(
  'over %s, an error of the work itself is answered as a failure',
  { tags: ['http-outage-spends-no-attempts'] },
  async (way) => {
    const { client, close } = ways[way](made.url);
    const twice: Work = async (tx) => {
      await tx.$queryRawUnsafe('insert into effect values (1)');
      await tx.$queryRawUnsafe('insert into effect values (1)');
    };
    const otherService: Work = () =>
      Promise.reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }));
    const lostTable = run('select * from lost_orders');
    for (const work of [twice, otherService, lostTable]) expect(await answerOf(client, work)).toEqual(failed);
    const said: Work = () => Promise.reject(permanent(Object.assign(new Error('no'), { code: '57P01' })));
    expect((await answerOf(client, said))[0]).toBe(422);
    await close();
  },
);
