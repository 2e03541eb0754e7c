import * as api from '@opentelemetry/api';
import { expect, test } from 'vitest';
import { createSpans } from '../../../src/telemetry/spans.ts';
import { TransactionEnd } from '../../../src/telemetry/work-end.ts';
import { recordSpans } from '../../support/fixtures/recorded-spans.ts';

const { named } = recordSpans();
const spans = createSpans(async () => api);
const tried = (id: string, traced = true) => ({
  message: { id, headers: traced ? { traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01` } : {} },
  incoming: {},
});
const processorOf = (topic: string) => ({ system: () => 'kafka', topic, group: 'billing' });

test('a span lasts until the end of its transaction, and is an error if that is rolled back or begins again', async () => {
  const processor = processorOf('orders');
  const work = async (): Promise<void> => undefined;
  const ends = (): readonly unknown[] =>
    named('process orders').map(({ attributes }) => [
      attributes['messaging.message.id'],
      attributes['error.type'],
    ]);
  const end = new TransactionEnd();
  end.begin();
  await spans.process(processor, tried('first'), work, end);
  expect(ends()).toEqual([]);
  end.begin();
  expect(ends()).toEqual([['first', '_OTHER']]);
  await spans.process(processor, tried('again'), work, end);
  end.end({ error: new RangeError('secret') });
  await spans.process(processor, tried('late'), work, end);
  const committed = new TransactionEnd();
  await spans.process(processor, tried('good'), work, committed);
  committed.end(undefined);

  expect(ends()).toEqual([
    ['first', '_OTHER'],
    ['again', 'RangeError'],
    ['late', 'RangeError'],
    ['good', undefined],
  ]);
});

test('a message that was tried, and one without a trace, is parked without a span', async () => {
  const processor = processorOf('bills');
  const again = tried('again');
  await spans.process(processor, again, async () => undefined);
  await spans.park(processor, again);
  await spans.park(processor, tried('untraced', false));

  expect([named('process bills').length, named('park bills').length]).toEqual([1, 0]);
});
