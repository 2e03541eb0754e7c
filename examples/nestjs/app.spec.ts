/// <reference types="jest" />
import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import type { ConsumerEvent } from 'temporal-outbox/consumer';
import { type RunningRelay, startRelay } from 'temporal-outbox/relay';
import { memoryBroker } from 'temporal-outbox/testing';
import { AppModule } from './app.module.ts';
import outbox from './outbox.config.ts';
import { PrismaService } from './prisma.service.ts';
import { bookingChanged } from './topics.ts';

// PostgreSQL and Temporal are real. The broker is in memory, so the test decides what arrives, and how often.
describe('the application', () => {
  const broker = memoryBroker();
  const config = { ...outbox, transports: { kafka: broker } };
  const events: ConsumerEvent[] = [];
  let app: NestFastifyApplication;
  let relay: RunningRelay;

  beforeAll(async () => {
    const application = AppModule.with({ config, report: (event) => void events.push(event) });
    const testing = await Test.createTestingModule({ imports: [application] }).compile();
    app = testing.createNestApplication<NestFastifyApplication>(new FastifyAdapter());
    await app.listen(0);
    relay = startRelay(config, { logger: false });
    await relay.ready;
  });
  afterAll(async () => {
    await relay.stop();
    await app.close();
  });

  it('confirms a booking once, although its message arrives twice', async () => {
    const answer = await fetch(`${await app.getUrl()}/bookings/spec-2`, { method: 'POST' });
    const { id } = (await answer.json()) as { id: string };
    const { confirmation } = app.get(PrismaService, { strict: false });
    while ((await confirmation.count({ where: { bookingId: id } })) === 0) await delay(20);

    broker.rewind('bookings', bookingChanged.name);

    while (!events.some(({ type }) => type === 'duplicate')) await delay(20);
    expect(await confirmation.findMany({ where: { bookingId: id } })).toEqual([
      { bookingId: id, seat: 'spec-2' },
    ]);
  });

  it('keeps a message for a person where no try can help', async () => {
    const bookingId = randomUUID();
    const body = JSON.stringify({ bookingId, seat: 'spec-3', change: 'canceled' });

    broker.append(bookingChanged.name, { body, headers: { ce_id: randomUUID() } });

    const failed = () => events.find(({ type }) => type === 'failed');
    while (failed() === undefined) await delay(20);
    expect(failed()).toMatchObject({ topic: bookingChanged.name, reason: 'permanent' });
  });
});
