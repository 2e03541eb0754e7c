import assert from 'node:assert/strict';
import { transaction } from 'temporal-outbox';
import type { MessageDetails, Operations } from 'temporal-outbox/operations';
import type { PrismaClient } from './generated/payments/client.ts';
import type { Jam } from './jam.ts';
import { type Payment, pay, storePayment } from './payments.ts';
import { until } from './until.ts';

/** What the faults are played on. */
export interface Stage {
  readonly payments: PrismaClient;
  readonly outbox: Operations;
  readonly jam: Jam;
}

/** The row of the message, which is the stub of its payment. */
export async function stubOf(
  outbox: Operations,
  { messageId }: Payment,
): Promise<NonNullable<MessageDetails['message']>> {
  const shown = await outbox.show(messageId);
  assert.ok(shown?.message);
  return shown.message;
}

/** A payment is rolled back after its message was stored. Answers its id. */
export async function rollBack(payments: PrismaClient): Promise<string> {
  const declined = new Error('The account is closed.');
  let id = '';
  const paying = transaction(payments, async (tx) => {
    id = (await storePayment(tx, { cents: 950 })).id;
    throw declined;
  });
  await assert.rejects(paying, declined);
  return id;
}

/**
 * A payment waits in its partition, at a slow consumer, while the group goes on with another partition,
 * until its receipt is overdue. Answers all payments that were made, and how many needless copies of it were sent.
 */
export async function fallBehind({ payments, outbox, jam }: Stage): Promise<[Payment[], needless: number]> {
  const made: Payment[] = [];
  const stateIs = (payment: Payment, state: string) =>
    until(`it is ${state}`, async () => (await stubOf(outbox, payment)).state === state);
  const handled = async (account: string): Promise<number | undefined> => {
    const payment = await pay(payments, { cents: 100, account });
    made.push(payment);
    await stateIs(payment, 'confirmed');
    return jam.placeOf(account);
  };
  const ahead = await handled('account-1');
  let number = 2;
  while ((await handled(`account-${number}`)) === ahead) {
    number += 1;
    assert.ok(number < 50, 'All accounts are in one place.');
  }

  jam.keep(`account-${number}`);
  const waits = await pay(payments, { cents: 100, account: `account-${number}` });
  await stateIs(waits, 'published');
  const firstTime = Number((await stubOf(outbox, waits)).confirmBy);
  assert.equal(await handled('account-1'), ahead);
  await until('it gets more time', async () => Number((await stubOf(outbox, waits)).confirmBy) > firstTime);
  const { sends } = await stubOf(outbox, waits);
  jam.release();
  return [[...made, waits], sends - 1];
}
