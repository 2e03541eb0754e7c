import { expect, test, vi } from 'vitest';
import { firstOffer, sourceOrder } from '../../../dev/servers/providers/source-order.ts';

test.each([
  ['localhost:1', {}, ['address']],
  ['localhost:1', { CI: 'true' }, ['address']],
  [undefined, {}, ['path', 'docker', 'registry']],
  ['', { CI: 'false' }, ['path', 'docker', 'registry']],
  [undefined, { CI: 'true' }, ['registry']],
])('with the address %j and %j these are asked, in turn: %j', (address, env, order) => {
  expect(sourceOrder(address, env)).toEqual(order);
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
