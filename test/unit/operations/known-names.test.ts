import { expect, test } from 'vitest';
import type { Call } from '../../../src/api/operation.ts';
import { Scope } from '../../../src/api/scope.ts';
import { operationTable } from '../../../src/api/table/table.ts';
import { OutboxError } from '../../../src/core/errors.ts';
import { unknownNames, withKnownNames } from '../../../src/operations/known-names.ts';

const at = {
  status: async () => ({
    topics: [
      { name: 'invoice', transport: 'kafka' },
      { name: 'order', transport: 'kafka' },
    ],
    lanes: [{ topic: 'invoice' }, { topic: 'unannounced' }],
    groups: [{ group: 'billing' }, { group: 'search' }],
  }),
} as unknown as Call['at'];

const topicUnknown = new OutboxError('OUTBOX_TOPIC_UNKNOWN', 'No relay has announced it.');
const transportUnknown = new OutboxError('OUTBOX_TRANSPORT_UNKNOWN', 'No topic uses it.');

/** What is told when the work fails by this. */
async function told(scope: Parameters<typeof withKnownNames>[1], failure: Error): Promise<string> {
  return withKnownNames(at, scope, () => Promise.reject(failure)).then(
    () => 'done',
    (error: Error) => error.message,
  );
}

test('who names a topic or transport that there is not is told which there are', async () => {
  expect(await told({ topic: 'invoic' }, topicUnknown)).toBe(
    'This database has no topic "invoic" (there are invoice, order, unannounced).',
  );
  expect(await told({ transport: 'kafak' }, transportUnknown)).toBe(
    'No topic uses the transport "kafak" (there are kafka).',
  );
});

test('a filter that has found nothing is told of a name that there is not, and of no other', async () => {
  const unknown = async (filter: Parameters<typeof unknownNames>[1]) => {
    const error = await unknownNames(at, filter);
    return error && [error.code, error.message];
  };
  expect(await unknown({ topic: 'invoic' })).toEqual([
    'OUTBOX_TOPIC_UNKNOWN',
    'This database has no topic "invoic" (there are invoice, order, unannounced).',
  ]);
  expect(await unknown({ group: 'biling' })).toEqual([
    'OUTBOX_GROUP_UNKNOWN',
    'No consumer group "biling" has ever used this database (there are billing, search).',
  ]);
  // A consumer may keep messages of a topic that is sent from another database.
  for (const known of [{ topic: 'unannounced' }, { group: 'billing', topic: 'elsewhere' }, {}])
    expect(await unknown(known)).toBeUndefined();
});

test('an error of another kind stays, and that of a topic with messages that no relay delivers', async () => {
  expect(await told({ topic: 'unannounced' }, topicUnknown)).toBe(topicUnknown.message);
  expect(await told({ topic: 'invoice' }, transportUnknown)).toBe(transportUnknown.message);
  expect(await told({ topic: 'invoic' }, new Error('away'))).toBe('away');
});

test.each(['pause', 'resume', 'changeLanes', 'changePartitions'])(
  '%s over HTTP tells the names to a caller that sees all topics, and to no other',
  async (name) => {
    const operation = operationTable.find((one) => one.name === name);
    const body = {
      pause: { topic: 'invoic' },
      resume: { topic: 'invoic' },
      changeLanes: { lanes: 2 },
      changePartitions: { partitions: 2 },
    }[name];
    const path = name.startsWith('change') ? { topic: 'invoic' } : {};
    const tell = async (topics: readonly string[] | undefined): Promise<unknown> => {
      const call = {
        at: { ...at, [name]: () => Promise.reject(topicUnknown) },
        scope: new Scope({ payloads: false, ...(topics !== undefined && { topics }) }),
        author: () => ({ actor: 'olga' }),
      } as unknown as Call;
      const act = operation?.prepare({ path, query: {}, body });
      return Promise.resolve(act?.(call)).catch((error: unknown) => error);
    };
    expect(String(await tell(undefined))).toContain('(there are invoice, order, unannounced)');
    expect(await tell(['invoic'])).toBe(topicUnknown);
  },
);
