import { expect, test } from 'vitest';
import { temporalInWords } from '../../../src/app/relay/temporal-in-words.ts';
import { temporalOf } from '../../../src/config/temporal-config.ts';

test.each([
  [{}, 'http://localhost:8233'],
  [{ address: '127.0.0.1:7233' }, 'http://localhost:8233'],
  [{ address: 'temporal.example:7233' }, 'unknown'],
  [{ address: 'temporal.example:7233', ui: 'https://ui.example' }, 'https://ui.example'],
])('the UI of Temporal %o is at %s', (temporal, ui) => {
  expect(temporalInWords(temporalOf(temporal))).toContainEqual({ name: 'temporal.ui', value: ui });
});

test('where Temporal is has the names of its settings', () => {
  const at = temporalOf({ address: 'temporal.example:7233', namespace: 'shop', ui: 'https://ui.example' });
  expect(temporalInWords(at)).toEqual([
    { name: 'temporal.address', value: 'temporal.example:7233' },
    { name: 'temporal.namespace', value: 'shop' },
    { name: 'temporal.ui', value: 'https://ui.example' },
  ]);
});
