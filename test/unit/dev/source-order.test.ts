import { expect, test, vi } from 'vitest';
import { firstOffer, sourceOrder } from '../../../dev/servers/providers/source-order.ts';

test('an address has priority over everything, also in CI', () => {
  expect(sourceOrder('localhost:1', {})).toEqual(['address']);
  expect(sourceOrder('localhost:1', { CI: 'true' })).toEqual(['address']);
});

test('without an address, PATH comes before Docker and Docker before the registries', () => {
  expect(sourceOrder(undefined, {})).toEqual(['path', 'docker', 'registry']);
  expect(sourceOrder('', { CI: 'false' })).toEqual(['path', 'docker', 'registry']);
});

test('CI=true uses only the pinned versions of the registries', () => {
  expect(sourceOrder(undefined, { CI: 'true' })).toEqual(['registry']);
});

test('the first source that has something is used, and later ones are not asked', async () => {
  const registry = vi.fn(async () => ({ found: 'from the registry' }));

  const offer = await firstOffer('A server', ['path', 'docker', 'registry'], {
    path: async () => ({ missing: 'not on PATH.' }),
    docker: async () => ({ found: 'from Docker' }),
    registry,
  });

  expect(offer).toEqual({ source: 'docker', found: 'from Docker' });
  expect(registry).not.toHaveBeenCalled();
});

test('when no source has it, the error has the reason of each', async () => {
  const search = firstOffer('A server', ['path', 'docker', 'registry'], {
    path: async () => ({ missing: 'not on PATH.' }),
    registry: async () => ({ missing: 'no npm.' }),
  });

  await expect(search).rejects.toMatchObject({
    code: 'OUTBOX_SERVER_UNAVAILABLE',
    message: 'A server cannot be started here. path: not on PATH. registry: no npm.',
  });
});
