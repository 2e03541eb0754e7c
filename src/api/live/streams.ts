import { randomUUID } from 'node:crypto';
import { asSentence } from '../../operations/descriptions.ts';
import { tailInputs } from '../../operations/inputs/messages.ts';
import { tailDeclared } from '../../operations/messages/messages.ts';
import { problemOf } from '../problem.ts';
import { noInputs, ofTexts, readInputs } from '../read-inputs.ts';
import { followMessages } from './follow-messages.ts';
import { statusSeenBy } from './seen-status.ts';
import type { Stream } from './stream.ts';

/** Every stream of the API; what is not in it does not exist. */
export const streamTable: readonly Stream[] = [
  {
    name: 'followStatus',
    path: '/events',
    summary:
      'The status every two seconds, as events `status`; `trouble` while it cannot be read. The stream ends after 15 minutes: connect again.',
    role: 'viewer',
    query: noInputs,
    events: { status: 'Status', trouble: 'Trouble' },
    prepare({ query, scope }) {
      readInputs('query parameter', noInputs, query);
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
    summary: `${asSentence(tailDeclared.text)} As events \`message\` within a second, without payloads. \`Last-Event-ID\` continues after what was told; \`trouble\` while they cannot be read. It ends after 15 minutes, too.`,
    role: 'viewer',
    query: tailInputs,
    events: { message: 'TailedMessage', trouble: 'Trouble' },
    continued: true,
    prepare({ lastId, query, scope }) {
      const { last, ...filter } = readInputs('query parameter', ofTexts(tailInputs), query);
      return followMessages(scope.filter(filter), last, lastId);
    },
  },
];
