import { OutboxError } from '../../core/errors.ts';
import type { KeptAnswer } from '../../operations/change.ts';
import { inboxTable } from '../../operations/inbox/inbox.ts';
import { keptListFilter, keptMessages, keptName } from '../../operations/inputs/kept.ts';
import type { KeptAnswers } from '../answers.ts';
import { changeRequest, readRequest } from '../declared-request.ts';
import { assertNamesKnown } from '../known.ts';
import { type Call, type Operation, operation } from '../operation.ts';
import { onlyBusy } from './changes.ts';
import { editBytes } from './messages.ts';

/** Operations on messages that consumers keep. */
export const inboxRoutes: readonly Operation[] = [
  operation({
    ...readRequest(inboxTable.list),
    name: 'listKept',
    path: '/kept',
    query: { ...keptListFilter, ...inboxTable.list.query },
    answer: 'KeptPage',
    async run(call, { query: { after, limit, ...filter } }) {
      const found = await call.at.inbox.list(call.scope.filter(filter), { after, limit });
      if (found.messages.length === 0) await assertNamesKnown(call, filter);
      return found;
    },
  }),
  operation({
    ...readRequest(inboxTable.show),
    name: 'showKept',
    versioned: true,
    path: '/groups/{group}/kept/{id}',
    params: keptName,
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
    params: keptName,
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
  ...(['retry', 'discard', 'expunge'] as const).map(keptChange),
  operation({
    ...changeRequest(inboxTable.edit),
    name: 'editKept',
    path: '/groups/{group}/kept/{id}/edit',
    conditional: true,
    bodyBytes: editBytes,
    params: keptName,
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
function keptChange(verb: 'discard' | 'expunge' | 'retry'): Operation {
  return operation({
    ...changeRequest(inboxTable[verb]),
    name: `${verb}Kept`,
    path: `/groups/{group}/kept/${verb}`,
    params: { group: keptMessages.group },
    body: { ...inboxTable[verb].options, ids: keptMessages.ids },
    answer: 'KeptAnswers',
    unfinished: onlyBusy,
    run: (call, { body, path: { group } }) =>
      changeSeenKept(call, group, body.ids, (seen) =>
        call.at.inbox[verb]({ group, ids: seen }, call.author(body)),
      ),
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
