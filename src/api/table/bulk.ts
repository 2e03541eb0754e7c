import type { RequestOperations } from '../../app/operations/served-operations.ts';
import { OutboxError } from '../../core/errors.ts';
import { bulkTable, keptBulkTable } from '../../operations/bulk/bulk.ts';
import type { BulkAnswer } from '../../operations/bulk/start.ts';
import type { BulkOperation } from '../../operations/bulk/steps.ts';
import { bodyChangeRequest, pathChangeRequest, readRequest } from '../declared-request.ts';
import { assertNamesKnown } from '../known.ts';
import { type Call, type Operation, operation } from '../operation.ts';
import { topicUnknown } from '../scope.ts';

/** Changes to all messages that match a filter. */
export const bulkRoutes: readonly Operation[] = [
  operation({
    ...bodyChangeRequest(bulkTable.start),
    name: 'startBulk',
    path: '/bulk',
    answer: 'BulkStart',
    async run({ at, author, scope }, { body: { filter, task, ...options } }) {
      const seen = scope.filter(filter);
      if (task.action === 'replay' && task.to !== undefined) scope.require(task.to, topicUnknown(task.to));
      // Before: an operation that was started stays, whatever is answered.
      await assertNamesKnown({ at, scope }, filter);
      return withoutErrors(await at.bulk.start(seen, task, { ...author(options), ...options }));
    },
  }),
  operation({
    ...bodyChangeRequest(keptBulkTable.start),
    name: 'startKeptBulk',
    path: '/kept-bulk',
    answer: 'BulkStart',
    async run({ at, author, scope }, { body: { filter, task, ...options } }) {
      const seen = scope.filter(filter);
      await assertNamesKnown({ at, scope }, filter);
      return withoutErrors(await at.inbox.bulk.start(seen, task, { ...author(options), ...options }));
    },
  }),
  listed('listBulk', '/bulk', bulkTable.list, (at) => at.bulk),
  listed('listKeptBulk', '/kept-bulk', keptBulkTable.list, (at) => at.inbox.bulk),
  operation({
    ...readRequest(bulkTable.show),
    name: 'showBulk',
    path: '/bulk/{id}',
    params: bulkTable.show.of,
    answer: 'Bulk',
    run: (call, { path: { id } }) => seenBulk(call, id),
  }),
  ...(['pause', 'resume', 'abort'] as const).map((step) =>
    operation({
      ...pathChangeRequest(bulkTable[step]),
      name: `${step}Bulk`,
      path: `/bulk/{id}/${step}`,
      answer: 'BulkStep',
      async run(call, { body, path: { id } }) {
        if (call.scope.limited) await seenBulk(call, id);
        return call.at.bulk[step](id, call.author(body));
      },
    }),
  ),
];

function listed(
  name: string,
  path: string,
  declared: typeof bulkTable.list,
  of: (at: RequestOperations) => Pick<RequestOperations['bulk'], 'list'>,
): Operation {
  return operation({
    ...readRequest(declared),
    name,
    path,
    query: declared.of,
    answer: 'BulkList',
    run: async ({ at, scope }, { query: { limit } }) => ({
      bulks: await of(at).list(limit, scope.topics),
    }),
  });
}

async function seenBulk({ at, scope }: Call, id: string): Promise<BulkOperation> {
  const found = await at.bulk.show(id);
  if (isSeen(found, scope)) return found;
  scope.require(
    null,
    new OutboxError('OUTBOX_BULK_UNKNOWN', `There is no bulk operation ${id}.`, { details: { id } }),
  );
  return found;
}

/** A replay has two topics. */
function isSeen({ arguments: given, filter }: BulkOperation, scope: Call['scope']): boolean {
  return scope.sees(filter.topic) && (!('to' in given) || scope.sees(given.to));
}

/** The answer of a start is stored for repeats, and an error may repeat contents that are expunged later. */
function withoutErrors<Answer extends BulkAnswer<{ readonly lastError: string | null }>>(
  answer: Answer,
): Answer {
  if (answer.id === null) return answer;
  return { ...answer, sample: answer.sample.map((message) => ({ ...message, lastError: null })) };
}
