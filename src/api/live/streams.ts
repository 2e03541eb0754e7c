import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { asSentence, operationTexts } from '../../operations/descriptions.ts';
import { problemOf } from '../problem.ts';
import { tailedMessage, tailQuery } from '../schemas/messages.ts';
import { followMessages } from './follow-messages.ts';
import { statusSeenBy } from './seen-status.ts';
import type { Stream } from './stream.ts';

const trouble = z.object({ code: z.string() });
const noQuery = z.strictObject({});

/** Every stream of the API; what is not in it does not exist. */
export const streamTable: readonly Stream[] = [
  {
    name: 'followStatus',
    path: '/events',
    summary:
      'The status every two seconds, as events `status`; `trouble` while it cannot be read. The stream ends after 15 minutes: connect again.',
    role: 'viewer',
    query: noQuery,
    events: { status: z.looseObject({}), trouble },
    prepare({ query, scope }) {
      noQuery.parse(query);
      return ({ live, sink }) =>
        live.subscribe((news) => {
          if ('status' in news) sink.send('status', statusSeenBy(scope, news.status));
          else sink.send('trouble', { code: problemOf(news.error, randomUUID()).code });
        });
    },
  },
  {
    name: 'followMessages',
    path: '/events/messages',
    summary: `${asSentence(operationTexts.tail)} As events \`message\` within a second, without payloads. \`Last-Event-ID\` continues after what was told; \`trouble\` while they cannot be read. It ends after 15 minutes, too.`,
    role: 'viewer',
    query: tailQuery,
    events: { message: tailedMessage, trouble },
    continued: true,
    prepare({ lastId, query, scope }) {
      const { last, ...filter } = tailQuery.parse(query);
      return followMessages(scope.filter(filter), last, lastId);
    },
  },
];
