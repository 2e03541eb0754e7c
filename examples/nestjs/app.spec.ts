/// <reference types="jest" />
import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import type { ConsumerEvent } from 'temporal-outbox/consumer';
import { type RunningRelay, startRelay } from 'temporal-outbox/relay';
import { memorySource, memoryTransport } from 'temporal-outbox/testing';
import { AppModule, startConsumer } from './app.module.ts';
import outbox from './outbox.config.ts';
import { PrismaService } from './prisma.service.ts';
import { bookingCanceled, bookingMade } from './topics.ts';

// PostgreSQL and Temporal are real. The broker is in memory, so the test decides what arrives, and how often.
describe('the application', () => {
  const broker = memoryTransport();
  const arriving = memorySource();
  const config = { ...outbox, transports: { kafka: { ...broker, source: () => arriving } } };
  const events: ConsumerEvent[] = [];
  let app: NestFastifyApplication;
  let relay: RunningRelay;

  beforeAll(async () => {
    const testing = await Test.createTestingModule({ imports: [AppModule] }).compile();
    app = testing.createNestApplication<NestFastifyApplication>(new FastifyAdapter());
    await startConsumer(app, { config, report: (event) => void events.push(event) });
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
    const published = () => broker.records(bookingMade.name).filter(({ key }) => key === id);
    while (published().length === 0) await delay(20);
    const messages = published().map(({ headers, key, payload }) => ({ headers, key, body: payload }));

    arriving.append(bookingMade.name, ...messages, ...messages);

    const { confirmation } = app.get(PrismaService);
    while (!events.some(({ type }) => type === 'duplicate')) await delay(20);
    expect(await confirmation.findMany({ where: { bookingId: id } })).toEqual([
      { bookingId: id, seat: 'spec-2' },
    ]);
  });

  it('keeps a message for a person where no try can help', async () => {
    const bookingId = randomUUID();
    const body = JSON.stringify({ bookingId, seat: 'spec-3' });

    arriving.append(bookingCanceled.name, { body, headers: { ce_id: randomUUID() } });

    const failed = () => events.find(({ type }) => type === 'failed');
    while (failed() === undefined) await delay(20);
    expect(failed()).toMatchObject({ topic: bookingCanceled.name, reason: 'permanent' });
  });
});
