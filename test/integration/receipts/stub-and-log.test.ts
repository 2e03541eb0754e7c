import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ConfirmStage, confirmStage, type Stub } from '../../support/fixtures/confirm-stage.ts';
import type { ReceiptFate } from '../../support/fixtures/receipt-fate.ts';
import { until } from '../../support/fixtures/until.ts';

// "Stub and log", as people build it by hand, on this product: the producer's stub is the message's row, the consumer's
// log are the processed ids, and a receipt is how the log speaks to the stub. A stub is sent again only if it is
// unconfirmed, sent less often than allowed, due, passed by the consumer, and absent from the log: one test per rule, but for
// the number of sends and for what the consumer has passed, which `receipts-contract.ts` shows over every broker.
// A message that must not be resent always comes with one that must, so that every test sees a round of the relay.

const ends: (() => Promise<unknown>)[] = [];
let stage: ConfirmStage;
let receipts: ReceiptFate = 'kept';
/** The receipts that vanished. */
const vanished: string[] = [];
/** Numbers whose handler waits, and those whose handler fails once. */
const waiting = new Map<number, Promise<void>>();
const failingOnce = new Set<number>();

beforeAll(async () => {
  stage = await confirmStage(
    { onTestFinished: (end) => void ends.push(end) },
    { receiptTimeout: ['1h', '2h', '3h'], maxSends: 3 },
  );
  await stage.relay();
  await stage.consume({
    receipts: (payloads) => {
      if (receipts === 'vanished') vanished.push(...payloads);
      return receipts;
    },
    // Handlers wait here for rounds of the relay, which must not end their transactions.
    transactionTimeout: '5m',
    before: async (n) => {
      await waiting.get(n);
      if (failingOnce.delete(n)) throw new Error('the handler fails once');
    },
  });
});
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
});

async function stub(n: number): Promise<Stub> {
  const found = (await stage.stubs()).find((one) => one.n === n);
  if (found === undefined) throw new Error(`There is no message ${n}.`);
  return found;
}

const confirmed = (n: number) => until(async () => (await stub(n)).state === 'confirmed');

/** Processes a message whose receipt never arrives. */
async function processedInSilence(n: number): Promise<void> {
  receipts = 'vanished';
  await stage.send(n);
  await until(async () => (await stage.effects()).includes(n));
  // A receipt is sent after the commit: on a busy machine long after it, and after others of messages that are delivered again.
  const id = await stage.idOf(n);
  await until(() => vanished.some((receipt) => receipt.includes(id)));
  await stage.passedBeyondAll();
}

/** Sends one message again, as a witness that the relay has looked at everything that is overdue. */
async function anotherIsSentAgain(n: number): Promise<void> {
  await processedInSilence(n);
  receipts = 'kept';
  await stage.expire(n);
  await confirmed(n);
  expect(await stub(n)).toMatchObject({ sends: 2 });
}

test('the stub has the content, the number of sends, the offset and the time; the log has the id once', async () => {
  await stage.send(1);
  await confirmed(1);

  expect(await stub(1)).toMatchObject({ n: 1, sends: 1, offset: '0' });
  expect(await stage.log()).toBe(1);
  expect(await stage.effects()).toEqual([1]);
});

test('rule 1: only unconfirmed messages are resent', async () => {
  await stage.expire(1);

  await anotherIsSentAgain(2);

  expect(await stub(1)).toMatchObject({ state: 'confirmed', sends: 1 });
});

test('rule 3: only due messages are resent, whose time has passed, not those whose time is yet to come', async () => {
  await processedInSilence(4);

  await anotherIsSentAgain(5);

  expect(await stub(4)).toMatchObject({ state: 'published', sends: 1 });
  await stage.publishReceipts([await stage.idOf(4)]);
  await confirmed(4);
});

test('rule 5: a message in the log is not handled again: the repeat is dropped and gets its receipt', async () => {
  await anotherIsSentAgain(8);

  expect((await stage.effects()).filter((n) => n === 8)).toEqual([8]);
  await until(() => stage.consumerEvents.some(({ type }) => type === 'duplicate'));
});

test('a failing handler leaves no log and no receipt until it succeeds', async () => {
  receipts = 'kept';
  failingOnce.add(10);
  const before = await stage.log();
  let open: () => void = () => undefined;
  waiting.set(10, new Promise((resolve) => (open = resolve)));
  await stage.send(10);
  await until(async () => (await stub(10)).state === 'published');
  open();
  await until(() => stage.consumerEvents.some(({ type }) => type === 'attempt-failed'));

  await confirmed(10);

  expect(await stage.log()).toBe(before + 1);
  expect(await stub(10)).toMatchObject({ sends: 1 });
});
