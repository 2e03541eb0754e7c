import { randomUUID } from 'node:crypto';
import type { PrismaClient } from '../dev/generated/shop/client.ts';
import { send, sendBatch } from '../src/outbox/send.ts';
import { prismaOf } from './consume-load.ts';
import { walBytes } from './statistics.ts';
import { announceTopic, type BodyTopic, body, overall, type Stage } from './workload.ts';

export interface WriteSizes {
  readonly rounds: number;
  /** Transactions of each kind in a round. */
  readonly transactions: number;
  /** Rows of a round of batches. */
  readonly batched: number;
}

export interface WriteFigures {
  /** Business transactions per second: with one `send`, and with a plain INSERT of the same row instead. */
  readonly sent: number;
  readonly inserted: number;
  /** Rows per second by `sendBatch` of 1,000, through Prisma, by two writers. */
  readonly batched: number;
  /** Of the log, for a row of a batch. */
  readonly walBytesPerMessage: number;
}

const perBatch = 1_000;
const writers = 2;
const warmUp = 200;

/** What storing costs: nothing drains meanwhile. */
export async function measureWrite(
  stage: Stage,
  sizes: WriteSizes,
  tell: (line: string) => void,
): Promise<WriteFigures> {
  const prisma = prismaOf(stage);
  const target = await announceTopic(stage.database, `write-${randomUUID().slice(0, 8)}`, { lanes: 2 });
  await stage.database.query('create table business (n integer not null, text text not null)');
  await stage.database.query(
    `create table by_hand (id uuid primary key default gen_random_uuid(), topic text not null, key text,
       payload text not null, headers jsonb, created_at timestamptz not null default now())`,
  );
  const kinds = { sent: withSend(prisma, target), inserted: withInsert(prisma, target) };
  const rates = { sent: [] as number[], inserted: [] as number[], batched: [] as number[] };
  let wal = 0;
  try {
    for (const kind of Object.values(kinds)) await repeat(warmUp, kind);
    await storeBatches(prisma, target, writers * 10 * perBatch);
    for (let round = 1; round <= sizes.rounds; round += 1) {
      // In turn, because the speed of the machine may change.
      for (const name of round % 2 === 0 ? (['inserted', 'sent'] as const) : (['sent', 'inserted'] as const))
        rates[name].push(await repeat(sizes.transactions, kinds[name]));
      const before = await walBytes(stage.database);
      rates.batched.push(await storeBatches(prisma, target, sizes.batched));
      wal += (await walBytes(stage.database)) - before;
      tell(
        `write, round ${round}: sent ${rates.sent.at(-1)}/s, inserted ${rates.inserted.at(-1)}/s, batched ${rates.batched.at(-1)} rows/s`,
      );
    }
  } finally {
    await stage.database.query('drop table business, by_hand');
    await prisma.$disconnect();
  }
  return {
    sent: overall(rates.sent),
    inserted: overall(rates.inserted),
    batched: overall(rates.batched),
    walBytesPerMessage: Math.round(wal / sizes.rounds / sizes.batched),
  };
}

type Work = (n: number) => Promise<unknown>;

function withSend(prisma: PrismaClient, target: BodyTopic): Work {
  return (n) =>
    prisma.$transaction(async (tx) => {
      await tx.$executeRaw`insert into business (n, text) values (${n}, ${body.text})`;
      await send(tx, target, body, { key: `key-${n}` });
    });
}

function withInsert(prisma: PrismaClient, target: BodyTopic): Work {
  return (n) =>
    prisma.$transaction(async (tx) => {
      await tx.$executeRaw`insert into business (n, text) values (${n}, ${body.text})`;
      await tx.$executeRaw`insert into by_hand (topic, key, payload)
        values (${target.name}, ${`key-${n}`}, ${JSON.stringify(body)})`;
    });
}

/** One after another. @returns transactions per second */
async function repeat(count: number, work: Work): Promise<number> {
  const startedAt = performance.now();
  for (let n = 0; n < count; n += 1) await work(n);
  return Math.round((count * 1_000) / (performance.now() - startedAt));
}

async function storeBatches(prisma: PrismaClient, target: BodyTopic, count: number): Promise<number> {
  let begun = 0;
  const writer = async (): Promise<void> => {
    while (begun < count) {
      const from = begun;
      begun += perBatch;
      const messages = Array.from({ length: perBatch }, (_, index) => ({
        payload: body,
        key: `key-${from + index}`,
      }));
      await prisma.$transaction((tx) => sendBatch(tx, target, messages));
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: writers }, writer));
  return Math.round((begun * 1_000) / (performance.now() - startedAt));
}
