import { expect, test } from 'vitest';
import { streamTable } from '../../../src/api/live/streams.ts';
import { operationTable } from '../../../src/api/table/table.ts';

/** Texts that a regular expression with nested repetition takes years for. */
const hostile = ['a', '1', ',', ' ', '-', '.', '1,', 'a:', '1d ', '\\', '0'].flatMap((text) => [
  `${text.repeat(60_000)}!`,
  `${text.repeat(40)}!`,
]);

const parameters = [...operationTable, ...streamTable].flatMap(({ name, query }) =>
  Object.entries(query.shape).map(([parameter, schema]) => ({ name, parameter, schema })),
);

test.each(parameters)('$name reads any text as "$parameter" at once', ({ schema }) => {
  const parse: unknown = Reflect.get(schema, 'safeParse');
  if (typeof parse !== 'function') throw new Error('A parameter has a schema.');
  const before = process.cpuUsage();
  for (const text of hostile) Reflect.apply(parse, schema, [text]);
  const { system, user } = process.cpuUsage(before);
  expect((system + user) / 1_000, 'milliseconds of a processor').toBeLessThan(2_000);
});

test('names of Object.prototype are no parameters', () => {
  for (const { query } of operationTable)
    for (const name of ['__proto__', 'constructor', 'toString'])
      expect(query.safeParse(JSON.parse(`{"${name}":"1"}`)).success).toBe(false);
});
