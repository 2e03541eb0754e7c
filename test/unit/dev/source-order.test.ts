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
