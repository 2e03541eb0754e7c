import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/fixtures/database.ts';
import { installsWithinMs, printed, type ScratchProject, scratchProject } from './scratch-project.ts';

interface Finding {
  readonly state: string;
  readonly check: string;
  readonly next: string | null;
}

let project: ScratchProject;
let made: TestDatabase;
/** What the compiler said. */
let compiled: string;

beforeAll(async () => {
  project = await scratchProject('prisma-8');
  compiled = printed(await project.node(['node_modules/typescript/bin/tsc', '-p', '.']));
}, installsWithinMs);

afterAll(() => project.remove());

/** A program of the project, on a database of its own. */
async function database(end: (drop: () => Promise<void>) => void) {
  made = await createTestDatabase();
  end(() => made.drop());
  await made.database.query('create table orders (id text primary key)');
  const env = { DATABASE_URL: made.url, TEMPORAL_ADDRESS: inject('temporalAddress') };
  return (...args: readonly string[]) => project.node(args, { env });
}

const rolledBack = expect.stringMatching(/^OUTBOX_TRANSACTION_ROLLED_BACK: /);

test('with Prisma 8, messages are sent, changed and rolled back with their orders', async ({
  onTestFinished,
}) => {
  const run = await database(onTestFinished);

  expect(compiled).toBe('');

  const played = printed(await run('sender.js'));

  expect(JSON.parse(played)).toEqual({
    sent: ['ready', 2, 'waiting', true],
    changed: [
      { transaction_isolation: 'serializable' },
      'rescheduled',
      'canceled',
      'canceled',
      'scheduled',
      'removed',
      false,
      true,
    ],
    rolledBack: [
      'Error: changed my mind',
      rolledBack,
      expect.stringMatching(/^OUTBOX_PAYLOAD_INVALID: /),
      rolledBack,
    ],
    notAwaited: 'undefined',
    waited: expect.stringMatching(/^OUTBOX_SERVER_UNAVAILABLE: .* within 100 ms/),
    unwrapped: [
      expect.stringMatching(/^OUTBOX_NOT_IN_TRANSACTION: .* transaction of Prisma 8.*prisma8\(db\)/),
      expect.stringMatching(/^OUTBOX_NOT_IN_TRANSACTION: .* client of Prisma 8.*prisma8\(db\)/),
      expect.stringMatching(/^OUTBOX_NOT_IN_TRANSACTION: /),
      expect.stringMatching(/^OUTBOX_OPTION_INVALID: .*prisma8\(db\)/),
      expect.stringMatching(/^OUTBOX_OPTION_INVALID: .*prisma8\(db\)/),
    ],
    orders: ['sent'],
    stored: ['a', 'b', 'not awaited', 'sent'],
    nudged: true,
  });
});

test('with Prisma 8, consumers that are killed leave each effect once', {
  tags: ['pool-keeps-promises'],
}, async ({ onTestFinished }) => {
  const run = await database(onTestFinished);
  const effects = async () => {
    const [row] = await made.database.query<object>(
      `select (select array_agg(id order by id) from orders) as orders,
         (select array_agg(payload::json ->> 'orderId' order by payload) from outbox.message_view) as sent`,
    );
    return row;
  };

  expect(await run('consumer.js', '2-handled')).toMatchObject({ stdout: '' });
  expect(await effects()).toEqual({ orders: ['1'], sent: ['1'] });
  expect(await run('consumer.js', '2-committed')).toMatchObject({ stdout: '' });
  expect(await effects()).toEqual({ orders: ['1', '2'], sent: ['1', '2'] });
  const ended = printed(await run('consumer.js'));
  expect(await effects()).toEqual({ orders: ['1', '2', '3'], sent: ['1', '2', '3'] });

  expect(JSON.parse(ended)).toEqual({ handled: 1, duplicates: 2, parked: 0, failedAttempts: 1, failed: 0 });
});

test('with Prisma 8, the doctor runs, and names what is wrong with the servers', async ({
  onTestFinished,
}) => {
  const run = await database(onTestFinished);
  const command = 'node_modules/temporal-outbox/dist/bin/temporal-outbox.js';
  const doctor = async () => {
    const { stdout } = await run(command, 'doctor', '--json');
    const { findings = [] } = JSON.parse(stdout) as { readonly findings?: readonly Finding[] };
    return Object.fromEntries(findings.map(({ check, state, next }) => [check, [state, next]]));
  };

  expect(await doctor()).toMatchObject({
    migrations: ['ok', null],
    relays: ['warning', 'temporal-outbox relay'],
  });
  await made.database.query('drop schema outbox cascade');
  expect(await doctor()).toMatchObject({ migrations: ['problem', 'temporal-outbox migrate'] });
});
