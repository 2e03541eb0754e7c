import { expect, test } from 'vitest';
import { judge, type TestResults } from '../../mutations/verdict.ts';

const failed = (...failureMessages: readonly string[]) => ({ title: 't', status: 'failed', failureMessages });
const passed = { title: 'u', status: 'passed', failureMessages: [] };
const results = (
  assertionResults: TestResults['testResults'][number]['assertionResults'],
  message = '',
): TestResults => ({ testResults: [{ message, assertionResults }] });

test('a failed expectation catches the bug, and its first line is reported', () => {
  expect(judge(results([passed, failed('AssertionError: expected 1 to be 2\n    at a.ts:1')]))).toEqual({
    kind: 'caught',
    said: 'AssertionError: expected 1 to be 2',
  });
});

test('a mere timeout is reported as such, unless another test shows more', () => {
  const late = failed('Error: Test timed out in 60000ms.\nIf this is a long-running test');
  expect(judge(results([late]))).toMatchObject({ kind: 'timed out' });
  expect(judge(results([failed('Error: The condition did not come true in 30000 ms.')]))).toMatchObject({
    kind: 'timed out',
  });
  expect(judge(results([failed('Error: STACK_TRACE_ERROR\n    at a.ts:1')]))).toMatchObject({
    kind: 'timed out',
  });
  expect(judge(undefined)).toMatchObject({ kind: 'timed out' });
  expect(judge(results([late, failed('Error: no')]))).toEqual({ kind: 'caught', said: 'Error: no' });
});

test('green tests let the bug survive', () => {
  expect(judge(results([passed]))).toMatchObject({ kind: 'survived' });
});

test('an unhandled error despite green tests catches the bug, because it makes the run red', () => {
  const unhandled = { ...results([passed]), success: true, exitCode: 1 };
  expect(judge(unhandled)).toEqual({ kind: 'caught', said: 'an error outside of the tests' });
  expect(judge({ ...unhandled, exitCode: 0 })).toMatchObject({ kind: 'survived' });
  expect(judge({ ...unhandled, success: false })).toMatchObject({ kind: 'timed out' });
});

test('a file that never ends, for which vitest names no failed test, does not count as green', () => {
  expect(judge({ ...results([passed]), success: false })).toMatchObject({ kind: 'timed out' });
  expect(judge({ ...results([passed]), success: true })).toMatchObject({ kind: 'survived' });
});

test('a file that does not load, and a title without a test, catch nothing', () => {
  expect(judge(results([], 'Error: Transform failed'))).toEqual({
    kind: 'broken',
    said: 'Error: Transform failed',
  });
  const skipped = { title: 'v', status: 'skipped', failureMessages: [] };
  expect(judge(results([skipped]))).toMatchObject({ kind: 'broken' });
  expect(judge({ testResults: [] })).toMatchObject({ kind: 'broken' });
});
