import 'reflect-metadata';
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { OutboxConsumer } from 'temporal-outbox/nestjs';
import { startRelay } from 'temporal-outbox/relay';
import { AppModule } from './app.module.ts';
import config from './outbox.config.ts';
import { PrismaService } from './prisma.service.ts';

const app = await NestFactory.create<NestFastifyApplication>(
  AppModule.with({ config }),
  new FastifyAdapter(),
  { logger: ['error', 'warn'] },
);
// Without it SIGTERM ends the process in the middle of its work.
app.enableShutdownHooks();
await app.listen(0);
await app.get(OutboxConsumer, { strict: false }).started;
// Your own relay is a process of its own: `temporal-outbox relay`.
const relay = startRelay(config, { logger: false });
await relay.ready;

const request = async (method: string, path: string) =>
  fetch(`${await app.getUrl()}/bookings/${path}`, { method });
const book = async (seat: string): Promise<string> => {
  const answer = await request('POST', seat);
  assert.equal(answer.status, 201);
  const { id } = (await answer.json()) as { id: string };
  return id;
};

const seats = ['A1', 'A2', 'B1', 'B2'];
const ids = await Promise.all(seats.map(book));
const taken = await request('POST', 'A1');
assert.equal(taken.status, 409);
const canceled = ids[0] ?? '';
assert.equal((await request('DELETE', canceled)).status, 200);

assert.equal((await fetch(`${await app.getUrl()}/ready`)).status, 200);

const prisma = app.get(PrismaService, { strict: false });
const confirmed = async () => (await prisma.confirmation.findMany()).map(({ seat }) => seat).toSorted();
while ((await confirmed()).join() !== 'A2,B1,B2') await delay(50);
await relay.stop();
assert.deepEqual(await confirmed(), ['A2', 'B1', 'B2']);
await app.close();
console.log(
  `nestjs: ${seats.length} booked and confirmed once, 1 refused and never told, 1 canceled after its confirmation`,
);
