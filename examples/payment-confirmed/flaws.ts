import { randomUUID } from 'node:crypto';
import { createClient } from '@redis/client';
import { StubAndLog } from './by-hand.ts';
import type { PrismaClient as Ledger } from './generated/ledger/client.ts';
import type { PrismaClient as Payments } from './generated/payments/client.ts';

const minuteMs = 60_000;

/** What became of nine payments under the same faults. */
export interface Figures {
  /** Payments that were never booked, although the broker would have taken another copy. */
  readonly lost: number;
  /** Payments whose every copy is lost, and nobody is told. */
  readonly untold: number;
  /** Copies that were sent before the receipt was overdue. */
  readonly early: number;
}

/** Runs the hand-written stub and log on a clock of its own. */
export async function flawsByHand(payments: Payments, ledger: Ledger): Promise<Figures> {
  const redis = createClient({ url: process.env['REDIS_URL'] ?? 'redis://localhost:6379' });
  await redis.connect();
  const prefix = `payment-confirmed:by-hand:${randomUUID()}`;
  const hand = new StubAndLog(payments, ledger, redis, prefix);
  const ids = Array.from({ length: 9 }, (_, n) => `payment ${n + 1}`);
  const [one = '', two = '', third = '', four = '', five = '', six = '', seven = '', eight = '', nine = ''] =
    ids;

  // A worker dies with the third payment in its hands. There is none for half an hour, while the job goes on.
  for (const id of [one, two, third, four, five]) await hand.send(id);
  await hand.consume({ diesWith: third });
  // Meanwhile the broker loses one payment once, and another whenever it is sent.
  hand.loses.set(six, 1).set(seven, Number.POSITIVE_INFINITY);
  for (const id of [six, seven, eight]) await hand.send(id);
  await minutes(hand, 30, 'no worker');
  await minutes(hand, 30);

  // The confirmation of the ninth gets lost. What it is sent within nine minutes is sent before its time.
  await hand.send(nine);
  await hand.consume({ mute: true });
  await minutes(hand, 9);

  const booked = new Set(
    (await ledger.entry.findMany({ where: { paymentId: { in: ids } } })).map((e) => e.paymentId),
  );
  await redis.del(ids.map((id) => `${prefix}:${id}`));
  await redis.close();
  return {
    lost: ids.filter((id) => id !== seven && !booked.has(id)).length,
    untold: [seven].filter((id) => !hand.told.includes(id)).length,
    early: (hand.sends.get(nine) ?? 0) - 1,
  };
}

/** The job runs every minute; a worker handles what has arrived before. */
async function minutes(hand: StubAndLog, count: number, worker?: 'no worker'): Promise<void> {
  for (let passed = 0; passed < count; passed += 1) {
    hand.now += minuteMs;
    if (worker === undefined) await hand.consume();
    await hand.resend();
  }
}
