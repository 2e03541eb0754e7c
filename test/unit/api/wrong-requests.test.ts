import { expect, test } from 'vitest';
import { problemOf } from '../../../src/api/problem.ts';
import { operationTable } from '../../../src/api/table/table.ts';

const id = '6b2f9c1e-7d3a-4f53-9c52-0d5b1a1f0a11';

/** What a caller is told of a request that is refused before anything is read. */
function told(name: string, given: { query?: object; body?: object; path?: object }): string {
  const operation = operationTable.find((one) => one.name === name);
  try {
    operation?.prepare({ path: {}, query: {}, body: undefined, ...given });
    return 'accepted';
  } catch (error) {
    const { detail } = JSON.parse(problemOf(error, 'r').body) as { readonly detail: string };
    return detail;
  }
}

test('a misspelt parameter or field is answered by those that there are', () => {
  expect(told('listMessages', { query: { state: 'failed' } })).toMatch(
    /^There is no query parameter "state": there are topic, states, .*, limit, after\.$/,
  );
  expect(told('retryMessage', { path: { id }, body: { dry: true } })).toBe(
    'There is no field "dry": there are reason, dryRun.',
  );
  expect(told('showMessage', { path: { id }, query: { payload: '1' } })).toBe(
    'There is no query parameter "payload": there is none.',
  );
});

test('a time, a duration, an id and a task that are none are answered by what they look like', () => {
  expect(told('listMessages', { query: { createdFrom: '1h' } })).toContain('such as 2026-11-27T08:14Z');
  expect(told('rescheduleMessage', { path: { id }, body: { after: 'soon' } })).toContain('such as "90s"');
  expect(told('showMessage', { path: { id: 'abc' } })).toContain('must be a UUID');
  expect(told('startBulk', { body: { filter: {}, task: 'retry', reason: 'r' } })).toContain(
    '"action": cancel, discard, retry',
  );
});
