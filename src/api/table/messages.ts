import { optional } from '../../core/options/values.ts';
import { asSentence, operationTexts, optionTexts } from '../../operations/descriptions.ts';
import { edit, messageFilter } from '../../operations/inputs/messages.ts';
import {
  givenTime,
  meaning,
  messageId,
  page,
  patience,
  patienceForm,
  span,
  spanForm,
  timeForm,
} from '../../operations/inputs/values.ts';
import type { ShowOptions } from '../../operations/messages/show.ts';
import type { DetailsWithoutContents } from '../answers.ts';
import { assertNamesKnown } from '../known.ts';
import { type Call, type Operation, operation } from '../operation.ts';
import { changes, messageUnknown, requireSeen } from './changes.ts';

const byId = { id: messageId };
/** As large as the greatest payload of a topic, in JSON. */
const editBytes = 2 * 1_024 * 1_024;

const due = {
  after: meaning(optional(span), optionTexts.dueAfter, spanForm),
  at: meaning(optional(givenTime), optionTexts.dueAt, timeForm),
};

/** Operations on messages of the outbox. */
export const messageRoutes: readonly Operation[] = [
  operation({
    name: 'listMessages',
    method: 'GET',
    path: '/messages',
    summary: `${asSentence(operationTexts.list)} By topic and ref archived ones, too.`,
    role: 'viewer',
    way: 'read',
    query: { ...messageFilter, ...page },
    answer: 'MessagePage',
    async run(call, { query: { after, limit, ...filter } }) {
      const found = await call.at.list(call.scope.filter(filter), {
        ...(after !== undefined && { after }),
        ...(limit !== undefined && { limit }),
      });
      if (found.messages.length === 0) await assertNamesKnown(call, filter);
      return found;
    },
  }),
  operation({
    name: 'showMessage',
    versioned: true,
    method: 'GET',
    path: '/messages/{id}',
    summary: `${asSentence(operationTexts.show)} Without payload and headers.`,
    role: 'viewer',
    way: 'read',
    params: byId,
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
    params: byId,
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
    params: byId,
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
  ...changes({
    verb: 'cancel',
    way: 'change',
    more: {},
    change: (at, target, options) => at.cancel(target, options),
  }),
  ...changes({
    verb: 'reschedule',
    more: due,
    way: 'change',
    change: (at, target, options, { after, at: time }) =>
      at.reschedule(target, { ...options, ...dueOf(after, time) }),
  }),
  ...changes({
    verb: 'retry',
    way: 'change',
    more: {},
    change: (at, target, options) => at.retry(target, options),
  }),
  ...changes({
    verb: 'discard',
    way: 'change',
    more: {},
    change: (at, target, options) => at.discard(target, options),
  }),
  ...changes({
    verb: 'expunge',
    role: 'admin',
    way: 'change',
    more: {},
    change: (at, target, options) => at.expunge(target, options),
  }),
  ...changes({
    verb: 'withdraw',
    particular: 'It pauses the topic if a relay owns the lane.',
    way: 'wait',
    more: { timeout: meaning(patience, optionTexts.waitForRelays, patienceForm) },
    change: (at, target, options, { timeout }) => at.withdraw(target, { ...options, timeout }),
  }),
  operation({
    name: 'editMessage',
    method: 'POST',
    path: '/messages/{id}/edit',
    summary: `${asSentence(operationTexts.edit)} The copy has a new id. \`If-Match\`: its \`version\` as it was shown.`,
    role: 'operator',
    payloads: true,
    way: 'change',
    once: true,
    conditional: true,
    bodyBytes: editBytes,
    params: byId,
    body: edit,
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
