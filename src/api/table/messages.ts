import { asSentence, optionTexts } from '../../operations/descriptions.ts';
import { messageFilter, ofMessage } from '../../operations/inputs/messages.ts';
import { messageTable } from '../../operations/messages/messages.ts';
import type { ShowOptions } from '../../operations/messages/show.ts';
import type { DetailsWithoutContents } from '../answers.ts';
import { pathChangeRequest, readRequest } from '../declared-request.ts';
import { assertNamesKnown } from '../known.ts';
import { type Call, type Operation, operation } from '../operation.ts';
import { changes, messageUnknown, requireSeen } from './changes.ts';

/** As large as the greatest payload of a topic, in JSON. */
export const editBytes = 2 * 1_024 * 1_024;

/** Operations on messages of the outbox. */
export const messageRoutes: readonly Operation[] = [
  operation({
    ...readRequest(messageTable.list),
    name: 'listMessages',
    path: '/messages',
    query: { ...messageFilter, ...messageTable.list.query },
    answer: 'MessagePage',
    async run(call, { query: { after, limit, ...filter } }) {
      const found = await call.at.list(call.scope.filter(filter), { after, limit });
      if (found.messages.length === 0) await assertNamesKnown(call, filter);
      return found;
    },
  }),
  operation({
    ...readRequest(messageTable.show),
    name: 'showMessage',
    versioned: true,
    path: '/messages/{id}',
    params: ofMessage,
    answer: 'Message',
    run: (call, { path: { id } }) => shown(call, id, { log: false }),
  }),
  operation({
    name: 'showMessageLog',
    method: 'GET',
    path: '/messages/{id}/log',
    summary: `${asSentence(optionTexts.log)} Else as without \`/log\`; takes seconds.`,
    role: 'viewer',
    // No transaction may wait for a broker.
    way: 'wait',
    params: ofMessage,
    answer: 'Message',
    async run(call, { path: { id } }) {
      await requireSeen(call, id);
      return shown(call, id, { log: true });
    },
  }),
  operation({
    name: 'revealMessage',
    method: 'POST',
    path: '/messages/{id}/reveal',
    summary: 'Payload and headers of one message. The audit records who has read them.',
    role: 'viewer',
    payloads: true,
    way: 'change',
    params: ofMessage,
    body: {},
    answer: 'Revealed',
    async run({ at, author, scope }, { path: { id } }) {
      const found = await at.show(id);
      scope.require(found?.message?.topic, messageUnknown(id));
      if (!found?.message) throw messageUnknown(id);
      const { contentType, expungedAt, headers, payload, topic } = found.message;
      await at.note({ ...author({}), action: 'reveal', messageId: id, topic, result: 'revealed' });
      return { id, contentType, payload: expungedAt === null ? payload : null, base64: null, headers };
    },
  }),
  ...(['cancel', 'retry', 'discard', 'expunge'] as const).flatMap((verb) =>
    changes({
      verb,
      declared: messageTable[verb],
      way: 'change',
      change: (at, target, options) => at[verb](target, options),
    }),
  ),
  ...changes({
    verb: 'reschedule',
    declared: messageTable.reschedule,
    way: 'change',
    change: (at, target, options, { after, at: time }) =>
      at.reschedule(target, { ...options, ...dueOf(after, time) }),
  }),
  ...changes({
    verb: 'withdraw',
    declared: messageTable.withdraw,
    way: 'wait',
    change: (at, target, options, { timeout }) => at.withdraw(target, { ...options, timeout }),
  }),
  operation({
    ...pathChangeRequest(messageTable.edit),
    name: 'editMessage',
    path: '/messages/{id}/edit',
    conditional: true,
    bodyBytes: editBytes,
    answer: 'Copy',
    async run(call, { body, path: { id } }) {
      await requireSeen(call, id);
      const { at, author } = call;
      const version = call.version();
      const { dryRun: _dryRun, reason: _reason, ...corrections } = body;
      return at.edit(id, {
        ...author(body),
        ...corrections,
        ...(version !== undefined && { expectedVersion: version }),
      });
    },
  }),
];

async function shown({ at, scope }: Call, id: string, options: ShowOptions): Promise<DetailsWithoutContents> {
  const found = await at.show(id, options);
  scope.require(found?.message?.topic, messageUnknown(id));
  if (found === undefined) throw messageUnknown(id);
  if (found.message === null) return { ...found, message: null };
  const { headers: _headers, payload: _payload, ...message } = found.message;
  return { ...found, message };
}

/** Both are left to the operation, which refuses none and two. */
function dueOf(after: number | undefined, at: Date | undefined): { readonly after?: number } {
  return { ...(after !== undefined && { after }), ...(at !== undefined && { at }) };
}
