import { OutboxError } from '../../core/errors.ts';
import { listOf } from '../../core/options/collections.ts';
import type { KeptAnswer } from '../../operations/change.ts';
import { asSentence, operationTexts } from '../../operations/descriptions.ts';
import { keptListFilter } from '../../operations/inputs/kept.ts';
import { edit } from '../../operations/inputs/messages.ts';
import { authored, keptText, meaning, page } from '../../operations/inputs/values.ts';
import type { KeptAnswers } from '../answers.ts';
import type { Role } from '../authentication.ts';
import { assertNamesKnown } from '../known.ts';
import { type Call, type Operation, operation } from '../operation.ts';
import { onlyBusy } from './changes.ts';

const byName = { group: keptText, id: keptText };
const byGroup = { group: keptText };
const editBytes = 2 * 1_024 * 1_024;
const named = {
  ...authored,
  ids: meaning(
    listOf(keptText, 'a list of 1 to 200 ids', { least: 1, most: 200 }),
    'ids of the messages within the group',
  ),
};

/** Operations on messages that consumers keep. */
export const inboxRoutes: readonly Operation[] = [
  operation({
    name: 'listKept',
    method: 'GET',
    path: '/kept',
    summary: asSentence(operationTexts['inbox list']),
    role: 'viewer',
    way: 'read',
    query: { ...keptListFilter, ...page },
    answer: 'KeptPage',
    async run(call, { query: { after, limit, ...filter } }) {
      const found = await call.at.inbox.list(call.scope.filter(filter), {
        ...(after !== undefined && { after }),
        ...(limit !== undefined && { limit }),
      });
      if (found.messages.length === 0) await assertNamesKnown(call, filter);
      return found;
    },
  }),
  operation({
    name: 'showKept',
    versioned: true,
    method: 'GET',
    path: '/groups/{group}/kept/{id}',
    summary: `${asSentence(operationTexts['inbox show'])} Without body and headers. If none is kept, whether the group has handled it.`,
    role: 'viewer',
    way: 'read',
    params: byName,
    answer: 'Kept',
    async run({ at, scope }, { path }) {
      const found = await at.inbox.show(path);
      scope.require(found.message?.topic, keptUnknown(path));
      if (found.message === null) {
        if (!found.handled) await assertNamesKnown({ at, scope }, { group: path.group });
        return found;
      }
      const { body: _body, headers: _headers, ...message } = found.message;
      return { ...found, message };
    },
  }),
  operation({
    name: 'revealKept',
    method: 'POST',
    path: '/groups/{group}/kept/{id}/reveal',
    summary: 'Body and headers of one kept message. The audit records who has read them.',
    role: 'viewer',
    payloads: true,
    way: 'change',
    params: byName,
    body: {},
    answer: 'Revealed',
    async run({ at, author, scope }, { path }) {
      const { message } = await at.inbox.show(path);
      scope.require(message?.topic, keptUnknown(path));
      if (message === null) throw keptUnknown(path);
      const { body, headers, topic } = message;
      await at.note({
        ...author({}),
        action: 'reveal',
        messageId: null,
        kept: path,
        topic,
        result: 'revealed',
      });
      const text = body !== null && 'text' in body ? body.text : null;
      const base64 = body !== null && 'base64' in body ? body.base64 : null;
      return { id: path.id, contentType: null, payload: text, base64, headers };
    },
  }),
  keptChange('retry', 'operator'),
  keptChange('discard', 'operator'),
  keptChange('expunge', 'admin'),
  operation({
    name: 'editKept',
    method: 'POST',
    path: '/groups/{group}/kept/{id}/edit',
    summary: `${asSentence(operationTexts['inbox edit'])} \`If-Match\`: its \`version\` as it was shown.`,
    role: 'operator',
    payloads: true,
    way: 'change',
    once: true,
    conditional: true,
    bodyBytes: editBytes,
    params: byName,
    body: edit,
    answer: 'Copy',
    async run({ at, author, scope, ...call }, { body, path }) {
      const version = call.version();
      if (scope.limited)
        scope.require((await at.keptTopicsOf(path.group, [path.id])).get(path.id), keptUnknown(path));
      const { dryRun: _dryRun, reason: _reason, ...corrections } = body;
      return at.inbox.edit(path, {
        ...author(body),
        ...corrections,
        ...(version !== undefined && { expectedVersion: version }),
      });
    },
  }),
];

/** A change of messages that one group keeps, by their ids. */
function keptChange(verb: 'discard' | 'expunge' | 'retry', role: Role): Operation {
  return operation({
    name: `${verb}Kept`,
    method: 'POST',
    path: `/groups/{group}/kept/${verb}`,
    summary: asSentence(operationTexts[`inbox ${verb}`]),
    role,
    way: 'change',
    once: true,
    params: byGroup,
    body: named,
    answer: 'KeptAnswers',
    unfinished: onlyBusy,
    run: (call, { body, path: { group } }) =>
      changeSeenKept(call, group, body.ids, (ids) => call.at.inbox[verb]({ group, ids }, call.author(body))),
  });
}

/** As for messages of the outbox: those of other topics do not exist. */
async function changeSeenKept(
  { at, author, scope }: Call,
  group: string,
  ids: readonly string[],
  change: (ids: readonly string[]) => Promise<readonly KeptAnswer<string>[]>,
): Promise<KeptAnswers> {
  if (!scope.limited) return { answers: await change(ids) };
  const topics = await at.keptTopicsOf(group, ids);
  const seen = ids.filter((id) => scope.sees(topics.get(id)));
  const answers = seen.length === 0 ? [] : await change(seen);
  const answered = new Map(answers.map((answer) => [answer.id, answer]));
  for (const id of new Set(ids.filter((each) => topics.has(each) && !seen.includes(each))))
    await at.note({
      ...author({}),
      action: 'request',
      messageId: null,
      kept: { group, id },
      topic: topics.get(id) ?? null,
      result: 'denied',
    });
  return {
    answers: [...new Set(ids)].map(
      (id) => answered.get(id) ?? { id, topic: null, key: null, result: 'unknown', state: null },
    ),
  };
}

function keptUnknown({ group, id }: { readonly group: string; readonly id: string }): OutboxError {
  return new OutboxError('OUTBOX_MESSAGE_UNKNOWN', `The group "${group}" keeps no message ${id}.`, {
    details: { group, id },
  });
}
