import { expect, test } from 'vitest';
import { OffsetsBehindReceipts } from '../../../src/relay/overdue-offsets.ts';
import type { OffsetReader } from '../../../src/relay/passed-times.ts';

/** A broker whose offsets a test moves by hand. */
class Ledger implements OffsetReader {
  readonly questions: string[] = [];
  group = new Map([[0, '10']]);
  read = new Map<number, string>();
  receiptEnds = new Map<number, string>();

  async committed(group: string): Promise<ReadonlyMap<number, string>> {
    this.questions.push(group);
    return new Map(group === 'relays' ? this.read : this.group);
  }

  async ends(): Promise<ReadonlyMap<number, string>> {
    this.questions.push('ends');
    return new Map(this.receiptEnds);
  }
}

const passed = (ledger: Ledger) => {
  const clock = () => Promise.reject(new Error('Nobody needs a time.'));
  const offsets = new OffsetsBehindReceipts(ledger, { group: 'relays', address: 'receipts' }, clock);
  return async () => (await offsets.passed('shop', 'orders', false))?.offsets;
};

test('the group is asked before the receipts: the receipt of a passed message is before their end', async () => {
  const ledger = new Ledger();

  expect(await passed(ledger)()).toEqual(new Map([[0, '10']]));

  expect(ledger.questions).toEqual(['shop', 'ends', 'relays']);
});

test('there is no answer while receipts are still to be read, in any partition', async () => {
  const ledger = new Ledger();
  ledger.receiptEnds = new Map([
    [0, '5'],
    [2, '7'],
  ]);
  const ask = passed(ledger);

  expect(await ask()).toBeUndefined();
  ledger.read = new Map([[0, '5']]);
  expect(await ask()).toBeUndefined();
  ledger.read = new Map([
    [0, '5'],
    [2, '7'],
  ]);
  expect(await ask()).toEqual(new Map([[0, '10']]));
});

test('receipts that keep arriving do not delay the answer: the recorded end counts', async () => {
  const ledger = new Ledger();
  ledger.receiptEnds = new Map([[0, '5']]);
  const ask = passed(ledger);
  expect(await ask()).toBeUndefined();

  ledger.group = new Map([[0, '99']]);
  ledger.receiptEnds = new Map([[0, '50']]);
  ledger.read = new Map([[0, '6']]);

  expect(await ask()).toEqual(new Map([[0, '10']]));
  expect(await ask()).toBeUndefined();
});
