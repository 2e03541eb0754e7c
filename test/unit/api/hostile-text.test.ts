import { expect, test } from 'vitest';
import { streamTable } from '../../../src/api/live/streams.ts';
import { ofTexts, readInputs } from '../../../src/api/read-inputs.ts';
import { operationTable } from '../../../src/api/table/table.ts';
import type { Inputs } from '../../../src/operations/inputs/values.ts';

/** Texts that a regular expression with nested repetition takes years for. */
const hostile = ['a', '1', ',', ' ', '-', '.', '1,', 'a:', '1d ', '\\', '0'].flatMap((text) => [
  `${text.repeat(60_000)}!`,
  `${text.repeat(40)}!`,
]);

const parameters = [...operationTable, ...streamTable].flatMap(({ name, query }) =>
  Object.keys(query).map((parameter) => ({ name, parameter, query })),
);

function isRead(inputs: Inputs, given: unknown): boolean {
  try {
    readInputs('query parameter', inputs, given);
    return true;
  } catch {
    return false;
  }
}

test.each(parameters)('$name reads any text as "$parameter" at once', ({ parameter, query }) => {
  const inputs = ofTexts(query);
  const before = process.cpuUsage();
  for (const text of hostile) isRead(inputs, { [parameter]: text });
  const { system, user } = process.cpuUsage(before);
  expect((system + user) / 1_000, 'milliseconds of a processor').toBeLessThan(2_000);
});

test('names of Object.prototype are no parameters', () => {
  for (const { query } of operationTable)
    for (const name of ['__proto__', 'constructor', 'toString'])
      expect(isRead(ofTexts(query), JSON.parse(`{"${name}":"1"}`))).toBe(false);
});
