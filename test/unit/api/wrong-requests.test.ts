import { expect, test } from 'vitest';
import { problemOf } from '../../../src/api/problem.ts';
import { operationTable } from '../../../src/api/table/table.ts';
import { OutboxError } from '../../../src/core/errors.ts';

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

test('all that is wrong is told at once, also within what is given', () => {
  const body = {
    reason: '',
    task: { action: 'retry' },
    filter: { topic: 'a b', state: 'failed' },
    expect: -1,
  };
  const operation = operationTable.find(({ name }) => name === 'startBulk');
  let issues: unknown;
  try {
    operation?.prepare({ path: {}, query: {}, body });
  } catch (error) {
    ({ issues } = error instanceof OutboxError ? error.details : {});
  }
  expect(issues).toEqual([
    {
      where: 'filter.state',
      problem: expect.stringMatching(/^is unknown: use one of topic, states, key, /),
    },
    { where: 'filter.topic', problem: 'must be the name of a topic' },
    { where: 'reason', problem: expect.stringMatching(/^must be a text/) },
    { where: 'expect', problem: 'must be a whole number of at least 0' },
  ]);
});

test('a withdrawal of all that match a filter is refused', () => {
  const body = { filter: { topic: 'orders' }, task: { action: 'withdraw' }, reason: 'r' };
  expect(told('startBulk', { body })).toContain('"action": cancel, discard, retry, replay, or reschedule');
});

test('a text that is empty, blank, too long or cannot be stored is told why', () => {
  const reason = (given: string) => told('retryMessage', { path: { id }, body: { reason: given } });
  const refused =
    'The request is not as described: "reason" must be a text of 1 to 2000 characters without NUL';
  for (const given of ['', ' \n', 'a'.repeat(2_001), 'a\0b', '\uD800']) expect(reason(given)).toBe(refused);
  expect(reason('fixed')).toBe('accepted');
});

test('a server that is away is told by its kind, and by no address', () => {
  const detail = (details: object) => {
    const error = new OutboxError('OUTBOX_SERVER_UNAVAILABLE', 'at db.internal', { details: { ...details } });
    return (JSON.parse(problemOf(error, 'r').body) as { readonly detail: string }).detail;
  };
  expect(detail({ server: 'Kafka', servers: ['db.internal:9092'] })).toBe(
    'Kafka, which the request needs, does not answer, or is not prepared.',
  );
  for (const given of [{}, { server: 'db.internal' }, { server: 'db:5432' }])
    expect(detail(given)).toBe('A server that the request needs does not answer, or is not prepared.');
});

test('one thing that is wrong is told once', () => {
  const operation = operationTable.find(({ name }) => name === 'retryMessage');
  let body = '';
  try {
    operation?.prepare({ path: { id }, query: {}, body: { reason: '' } });
  } catch (error) {
    body = problemOf(error, 'r').body;
  }
  expect(JSON.parse(body)).toMatchObject({
    details: { issues: [{ where: 'reason', problem: expect.stringMatching(/^must be a text/) }] },
  });
});
