import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { databaseOutages } from '../../../src/app/relay/database-watch.ts';
import { silentFor } from '../../../src/app/relay/relay-presence.ts';
import { consumerTroubleLines, relayTroubleLines } from '../../../src/app/trouble-lines.ts';
import { OutboxError } from '../../../src/core/errors.ts';
import type { RelayReport } from '../../../src/relay/report.ts';
import { listening } from './listening.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

/** What three activities of a relay report of a server that is away. */
function failAll(report: RelayReport, server: string): void {
  for (const during of ['look', 'sweep', 'start-lanes'] as const) {
    const error = new OutboxError('OUTBOX_SERVER_UNAVAILABLE', `No answer to ${during}.`, {
      details: { server },
    });
    report({ type: 'error', during, error });
  }
}

test('PostgreSQL away is a line where it begins, whatever the relay was doing, and none until it is back', {
  tags: ['log-has-one-schema'],
}, () => {
  const told: (readonly [object, string])[] = [];
  const tell = (facts: object, message: string) => told.push([facts, message]);
  const report = relayTroubleLines({ warn: tell, error: tell });
  failAll(report, 'PostgreSQL');
  report({ type: 'database-away', error: 'no answer within 4 s' });
  vi.advanceTimersByTime(60_000);
  failAll(report, 'PostgreSQL');
  failAll(report, 'Temporal');
  report({ type: 'database-back', awayMs: 60_000 });
  failAll(report, 'PostgreSQL');

  expect(told.map(([, message]) => message)).toEqual([
    'look failed: OutboxError: No answer to look.',
    'delivers nothing until PostgreSQL is back: no answer within 4 s',
    'look failed: OutboxError: No answer to look.',
    'look failed: OutboxError: No answer to look.',
  ]);
  expect(told.map(([facts]) => facts)).toMatchObject([
    { server: 'PostgreSQL', during: 'look' },
    { event: 'database-away' },
    { server: 'Temporal' },
    { server: 'PostgreSQL' },
  ]);
});

test('one look that PostgreSQL has not answered in time is no outage, a refusal or a second one is', () => {
  const told: string[] = [];
  const looked = databaseOutages((event) => void told.push(event.type));
  const late = silentFor.error;
  for (const error of [late, null, late, late, late, null, null, 'connect ECONNREFUSED', late, null])
    looked(error);

  expect(told).toEqual(['database-away', 'database-back', 'database-away', 'database-back']);
});

test('the lines of an outage name its server as its end does, whatever its errors call it', () => {
  const { logger, told } = listening();
  const report = consumerTroubleLines('shop', logger);
  const error = new OutboxError('OUTBOX_SERVER_UNAVAILABLE', 'No answer.', { details: { server: 'Kafka' } });
  report?.({ type: 'disconnected', server: 'kafka', error, retryInMs: 200 });
  report?.({ type: 'connection-resumed', server: 'kafka', since: new Date() });

  expect(told.map(([, facts]) => facts)).toMatchObject([{ server: 'kafka' }, { server: 'kafka' }]);
});
