import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Described } from '../operation.ts';
import { problemOf } from '../problem.ts';
import type { Scope } from '../scope.ts';
import type { SendEvent } from './event-stream.ts';
import type { LiveStatus } from './live-status.ts';
import { statusSeenBy } from './seen-status.ts';

/** What a stream may use. */
export interface StreamCall {
  readonly scope: Scope;
  readonly live: LiveStatus;
  readonly send: SendEvent;
}

/** An operation whose answer goes on, as server-sent events. */
export interface Stream extends Pick<Described, 'name' | 'path' | 'summary' | 'role' | 'payloads'> {
  readonly query: z.ZodObject;
  /** Begins to send. @returns ends it */
  open(call: StreamCall): () => void;
}

/** Every stream of the API; what is not in it does not exist. */
export const streamTable: readonly Stream[] = [
  {
    name: 'followStatus',
    path: '/events',
    summary:
      'The status every two seconds, as events `status`; `trouble` while it cannot be read. The stream ends after 15 minutes: connect again.',
    role: 'viewer',
    query: z.strictObject({}),
    open: ({ live, scope, send }) =>
      live.subscribe((news) => {
        if ('status' in news) send('status', statusSeenBy(scope, news.status));
        else send('trouble', { code: problemOf(news.error, randomUUID()).code });
      }),
  },
];
