import type { RequestOperations } from '../../app/operations/served-operations.ts';
import { OutboxError } from '../../core/errors.ts';
import type { BulkOptions } from '../../operations/bulk/checks.ts';
import type { BulkAnswer } from '../../operations/bulk/start.ts';
import type { BulkOperation } from '../../operations/bulk/steps.ts';
import { asSentence, operationTexts } from '../../operations/descriptions.ts';
import { bulkStart, keptBulkStart } from '../../operations/inputs/bulk.ts';
import { authored, messageId, page } from '../../operations/inputs/values.ts';
import type { OperationOptions } from '../../operations/operation-options.ts';
import { assertNamesKnown } from '../known.ts';
import { type Call, type Operation, operation } from '../operation.ts';
import { topicUnknown } from '../scope.ts';

const byId = { id: messageId };

/** Changes to all messages that match a filter. */
export const bulkRoutes: readonly Operation[] = [
  operation({
    name: 'startBulk',
    method: 'POST',
    path: '/bulk',
    summary:
      'Start a change of all messages that match a filter, which relays make; `dryRun` only counts them.',
    role: 'operator',
    way: 'change',
    once: true,
    body: bulkStart,
    answer: 'BulkStart',
    async run({ at, author, scope }, { body: { filter, task, ...options } }) {
      const seen = scope.filter(filter);
      if (task.action === 'replay' && task.to !== undefined) scope.require(task.to, topicUnknown(task.to));
      // Before: an operation that was started stays, whatever is answered.
      await assertNamesKnown({ at, scope }, filter);
      return withoutErrors(await at.bulk.start(seen, task, bulkOptions(author(options), options)));
    },
  }),
  operation({
    name: 'startKeptBulk',
    method: 'POST',
    path: '/kept-bulk',
    summary:
      'Start a change of all messages that a group keeps and that match a filter, which its consumers make.',
    role: 'operator',
    way: 'change',
    once: true,
    body: keptBulkStart,
    answer: 'BulkStart',
    async run({ at, author, scope }, { body: { filter, task, ...options } }) {
      const seen = scope.filter(filter);
      await assertNamesKnown({ at, scope }, filter);
      return withoutErrors(await at.inbox.bulk.start(seen, task, bulkOptions(author(options), options)));
    },
  }),
  ...listed('listBulk', '/bulk', 'Those on messages of the outbox.', (at) => at.bulk),
  ...listed('listKeptBulk', '/kept-bulk', 'Those on kept messages.', (at) => at.inbox.bulk),
  operation({
    name: 'showBulk',
    method: 'GET',
    path: '/bulk/{id}',
    summary: `${asSentence(operationTexts['bulk show'])} Of either kind, with its progress.`,
    role: 'viewer',
    way: 'read',
    params: byId,
    answer: 'Bulk',
    run: (call, { path: { id } }) => seenBulk(call, id),
  }),
  ...(['pause', 'resume', 'abort'] as const).map((step) =>
    operation({
      name: `${step}Bulk`,
      method: 'POST',
      path: `/bulk/{id}/${step}`,
      summary: asSentence(operationTexts[`bulk ${step}`]),
      role: 'operator',
      way: 'change',
      once: true,
      params: byId,
      body: authored,
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
  which: string,
  of: (at: RequestOperations) => Pick<RequestOperations['bulk'], 'list'>,
): readonly Operation[] {
  return [
    operation({
      name,
      method: 'GET',
      path,
      summary: `${asSentence(operationTexts['bulk list'])} ${which}`,
      role: 'viewer',
      way: 'read',
      query: { limit: page.limit },
      answer: 'BulkList',
      run: async ({ at, scope }, { query: { limit } }) => ({
        bulks: await of(at).list(limit, scope.topics),
      }),
    }),
  ];
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

function bulkOptions(
  author: OperationOptions,
  {
    reason,
    ratePerSecond,
    expect,
  }: { readonly reason: string; readonly ratePerSecond?: number; readonly expect?: number },
): BulkOptions {
  return {
    ...author,
    reason,
    ...(ratePerSecond !== undefined && { ratePerSecond }),
    ...(expect !== undefined && { expect }),
  };
}

/** The answer of a start is stored for repeats, and an error may repeat contents that are expunged later. */
function withoutErrors<Answer extends BulkAnswer<{ readonly lastError: string | null }>>(
  answer: Answer,
): Answer {
  if (answer.id === null) return answer;
  return { ...answer, sample: answer.sample.map((message) => ({ ...message, lastError: null })) };
}
