import { expect, test } from 'vitest';
import {
  installationOf,
  type Receipt,
  readReceipt,
  receiptIdLimit,
  writeReceipt,
} from '../../../src/core/receipt.ts';

const receipt: Receipt = { group: 'shop', installation: 'i', state: 'processed', ids: ['a', 'b'] };

test('a receipt is read as it was written, with and without an installation', () => {
  expect(readReceipt(writeReceipt(receipt))).toEqual(receipt);
  expect(readReceipt(writeReceipt({ ...receipt, installation: undefined }))).toEqual({
    ...receipt,
    installation: undefined,
  });
});

test('a receipt carries a version, so that readers can recognize an unknown format', () => {
  expect(JSON.parse(writeReceipt(receipt))).toEqual({ version: 1, ...receipt });
});

test.each([
  ['', 'JSON object'],
  ['{', 'JSON object'],
  ['[1]', 'JSON object'],
  ['null', 'JSON object'],
  [JSON.stringify({ ...receipt, version: 2 }), 'version'],
  [JSON.stringify({ ...receipt }), 'version'],
  [JSON.stringify({ ...receipt, version: 1, group: '' }), 'group'],
  [JSON.stringify({ ...receipt, version: 1, group: 1 }), 'group'],
  [JSON.stringify({ ...receipt, version: 1, installation: 1 }), 'installation'],
  [JSON.stringify({ ...receipt, version: 1, state: 'maybe' }), 'state'],
  [JSON.stringify({ ...receipt, version: 1, ids: [1] }), 'ids'],
  [JSON.stringify({ ...receipt, version: 1, ids: 'a' }), 'ids'],
  [
    JSON.stringify({ ...receipt, version: 1, ids: Array.from({ length: receiptIdLimit + 1 }, () => 'a') }),
    'ids',
  ],
])('%.60s is not a receipt, and the reason names the %s', (body, named) => {
  expect(readReceipt(body)).toContain(named);
});

test('the installation is read only from the CloudEvents source of this library', () => {
  const uuid = '00000000-0000-4000-8000-000000000001';
  expect(installationOf(`/outbox/${uuid}`)).toBe(uuid);
  expect(installationOf(`/shop/${uuid}`)).toBeUndefined();
  expect(installationOf(undefined)).toBeUndefined();
});
