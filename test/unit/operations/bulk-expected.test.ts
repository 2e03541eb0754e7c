import { expect, test } from 'vitest';
import { startChecked } from '../../../src/operations/bulk/start.ts';

test('a selection too large to be counted is never the expected number', async () => {
  const place = { position: '1', id: 'x' };
  const database = { query: () => Promise.resolve([{ id: 'x', state: 'running' }]) };
  const walk = {
    page: (_sql: unknown, _place: unknown, size: number) =>
      Promise.resolve({ ids: Array.from({ length: size }, () => 'x'), next: place }),
    sample: () => Promise.resolve([]),
  };
  await expect(
    startChecked(
      database as never,
      { scope: { group: null, filter: {} }, change: { action: 'cancel' }, selectedUntil: '', walk } as never,
      { author: { actor: 'a', reason: 'b' }, ratePerSecond: 1, expect: 5, dryRun: false },
    ),
  ).rejects.toMatchObject({
    code: 'OUTBOX_BULK_UNEXPECTED',
    message: expect.stringContaining('at least'),
  });
});
