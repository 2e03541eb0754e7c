import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { z } from 'zod';
import type { PrismaClient } from '../../../dev/generated/shop/client.ts';
import { consumer } from '../../../src/app/consumer/consumer.ts';
import { kafka } from '../../../src/brokers/kafka/transport/kafka-transport.ts';
import type { Config } from '../../../src/config/config.ts';
import { topic } from '../../../src/core/topic.ts';
import type { ConsumerEvent } from '../../../src/inbox/consumer-event.ts';
import { refusingServer, startingUp } from '../../support/faults/refusing-server.ts';
import { runCli } from '../../support/fixtures/cli.ts';
import { type CliProcess, configFile, startCli } from '../../support/fixtures/cli-process.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { openPrisma } from '../../support/fixtures/prisma.ts';
import { quietTemporal } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';
import { createTopic, observer } from '../../support/kafka/kafka-topic.ts';
import { builtProgram } from '../../support/processes/built-program.ts';

let made: TestDatabase;
beforeAll(async () => {
  made = await createTestDatabase();
});
afterAll(() => made.drop());

/** How long a process that waits may wait before it leaves; what a busy machine adds is not its own. */
const leaveWithinMs = 2_000;
/** Has a process say at its end for how long it has waited since the signal. */
const env = { NODE_OPTIONS: `--import=${pathToFileURL(builtProgram('waited-main')).href}` };

const waitedMs = ({ stderr }: CliProcess): number => Number(/\nwaited (\d+) ms\n/.exec(stderr())?.[1]);

/** The database at another address, with a password that must not be seen. */
function movedTo(address: string): string {
  const url = new URL(made.url);
  url.host = address;
  url.password = 'not-to-be-seen';
  return url.href;
}

test('a relay without Temporal reports what it waits for, keeps asking, and exits when stopped', {
  tags: ['start-waits-for-servers'],
}, async (context) => {
  const temporal = await refusingServer(context);
  const config = await configFile(context, { url: made.url, temporal: temporal.address });
  const relay = startCli(context, ['relay', '--config', config], env);

  await until(() => relay.stdout().includes(`waits for Temporal at ${temporal.address}`), 120_000);
  const before = temporal.asked();
  // A client's own attempt may be more than one connection, and has pauses of its own.
  await until(() => temporal.asked() >= before + 6);
  expect(relay.stdout().match(/waits for/g), 'it does not repeat itself').toHaveLength(1);

  relay.signal('SIGTERM');
  expect(await relay.exited).toBe(0);
  expect(waitedMs(relay)).toBeLessThan(leaveWithinMs);
});

test('a relay started before its database waits for it and then delivers', {
  tags: ['start-waits-for-servers'],
}, async (context) => {
  const database = await refusingServer(context, startingUp());
  const url = movedTo(database.address);
  const config = await configFile(context, { url, temporal: inject('temporalAddress') });
  const relay = startCli(context, ['relay', '--config', config]);

  await until(() => relay.stdout().includes('waits for'), 120_000);
  expect(relay.stdout()).toContain(`waits for PostgreSQL at ${database.address}: `);
  expect(relay.stdout()).toContain('the database system is starting up');
  expect(relay.stdout()).not.toContain('not-to-be-seen');

  const password = new URL(made.url).password;
  const admitted = await configFile(context, {
    url: url.replace('not-to-be-seen', password),
    temporal: inject('temporalAddress'),
  });
  const second = startCli(context, ['relay', '--config', admitted]);
  await until(() => second.stdout().includes('waits for PostgreSQL'), 120_000);
  database.admit(new URL(made.url).host);
  await until(() => second.stdout().includes('Delivering'), 120_000);
});

test('an unreachable or refusing database is named with its address, without the password, and exit code 3', {
  tags: ['unreachable-is-visible', 'command-waits-for-start'],
}, async (context) => {
  const away = await refusingServer(context);
  const wrong = new URL(made.url);
  wrong.password = 'not-to-be-seen';
  const elsewhere = new URL(made.url);
  elsewhere.pathname = '/no_such_database';
  const config = await configFile(context, { url: wrong.href, temporal: inject('temporalAddress') });
  const database = wrong.pathname.slice(1);

  const [down, refused, missing, relay, migrate] = await Promise.all([
    runCli(['status', '--database', movedTo(away.address)]),
    runCli(['status', '--database', wrong.href]),
    runCli(['list', '--database', elsewhere.href]),
    runCli(['relay', '--config', config]),
    runCli(['migrate', '--database', wrong.href]),
  ]);

  expect(down.stderr).toContain(
    `OUTBOX_SERVER_UNAVAILABLE: PostgreSQL does not answer at ${away.address} (database "${database}"): `,
  );
  const named = `OUTBOX_SERVER_REFUSED: PostgreSQL at ${wrong.host} refuses a connection to the database `;
  for (const end of [refused, relay, migrate]) {
    expect(end.stderr).toContain(`${named}"${database}": password authentication failed`);
    expect(end.stderr).toContain('Next: Correct the user');
  }
  expect(missing.stderr).toContain(`${named}"no_such_database": `);
  const all = [down, refused, missing, relay, migrate];
  expect(all.map(({ code }) => code)).toEqual([3, 3, 3, 3, 3]);
  expect(JSON.stringify(all)).not.toContain('not-to-be-seen');
});

test('a consumer started before its database reports it, waits and then handles; a wrong password fails at once', {
  tags: ['start-waits-for-servers'],
}, async (context) => {
  quietTemporal();
  const database = await refusingServer(context, startingUp());
  const url = new URL(made.url);
  url.host = database.address;
  const prisma = openPrisma(url.href);
  const wrong = new URL(made.url);
  wrong.password = 'not-to-be-seen';
  const stranger = openPrisma(wrong.href);
  context.onTestFinished(async () => {
    await Promise.all([prisma.$disconnect(), stranger.$disconnect()]);
  });
  const address = await createTopic(observer(inject('kafkaBrokers')));
  const only = topic('here', z.unknown(), { address });
  const config: Config = {
    database: { url: made.url },
    temporal: { address: inject('temporalAddress') },
    topics: [only],
    transports: { kafka: kafka({ servers: inject('kafkaBrokers') }) },
  };
  const events: ConsumerEvent[] = [];
  const make = (client: PrismaClient) =>
    consumer(client, { config, group: address, window: 'forever', report: (event) => events.push(event) }).on(
      only,
      async () => undefined,
    );

  await expect(make(stranger).start()).rejects.toMatchObject({
    code: 'OUTBOX_SERVER_REFUSED',
    message: expect.stringMatching(/^The consumer's client cannot use PostgreSQL: Authentication failed/),
  });
  const starting = make(prisma).start();
  const waits = (): readonly ConsumerEvent[] => events.filter(({ type }) => type === 'waiting-for-server');
  await until(() => waits().length > 0);
  expect(waits()).toEqual([
    {
      type: 'waiting-for-server',
      server: 'PostgreSQL',
      error: expect.objectContaining({ code: 'OUTBOX_SERVER_UNAVAILABLE' }),
    },
  ]);
  database.admit(new URL(made.url).host);
  await (await starting).stop();
});
