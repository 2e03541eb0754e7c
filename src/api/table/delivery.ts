import { z } from 'zod';
import { OutboxError } from '../../core/errors.ts';
import type { PauseScope } from '../../operations/pause.ts';
import { statusSeenBy } from '../live/seen-status.ts';
import { type Call, type Operation, operation } from '../operation.ts';
import { adopted, paused, scopeBody, status, topicChange, verified } from '../schemas/delivery.ts';
import { authored, changed, givenTime, keptText, patience, span, topicName } from '../schemas/values.ts';
import { topicUnknown } from '../scope.ts';

const byTopic = z.strictObject({ topic: topicName });
/** How far a verification may look back: it reads all of that from the brokers. */
const longestVerifiedMs = 7 * 24 * 60 * 60 * 1_000;
const usuallyVerifiedMs = 60 * 60 * 1_000;

/** Operations on the delivery as a whole. */
export const deliveryRoutes: readonly Operation[] = [
  operation({
    name: 'showStatus',
    method: 'GET',
    path: '/status',
    summary:
      'State of topics, lanes, holds, relays and groups; for a caller that is limited, only its topics.',
    role: 'viewer',
    way: 'read',
    answer: status,
    run: async ({ at, scope }) => statusSeenBy(scope, await at.status()),
  }),
  operation({
    name: 'pause',
    method: 'POST',
    path: '/pause',
    summary: 'Stops the delivery of a topic, or of all topics of a transport.',
    role: 'operator',
    way: 'wait',
    once: true,
    body: z.strictObject({ ...authored, ...scopeBody, timeout: patience }),
    answer: paused,
    run: ({ at, author, scope }, { body }) =>
      at.pause(scopeOf(scope, body), { ...author(body), timeout: body.timeout }),
  }),
  operation({
    name: 'resume',
    method: 'POST',
    path: '/resume',
    summary: 'Ends the pause.',
    role: 'operator',
    way: 'change',
    once: true,
    body: z.strictObject({ ...authored, ...scopeBody }),
    answer: changed,
    run: ({ at, author, scope }, { body }) => at.resume(scopeOf(scope, body), author(body)),
  }),
  operation({
    name: 'changeLanes',
    method: 'POST',
    path: '/topics/{topic}/lanes',
    summary:
      'Changes the number of lanes of a topic. It is not delivered until the answer says that it is done.',
    role: 'admin',
    way: 'wait',
    once: true,
    params: byTopic,
    body: z.strictObject({
      reason: authored.reason,
      lanes: z.number().int().min(1).max(1_024).describe('How many there shall be.'),
      timeout: patience,
    }),
    answer: topicChange,
    run({ at, author, scope }, { body, path: { topic } }) {
      scope.require(topic, topicUnknown(topic));
      return at.changeLanes(topic, body.lanes, { ...author(body), timeout: body.timeout });
    },
  }),
  operation({
    name: 'changePartitions',
    method: 'POST',
    path: '/topics/{topic}/partitions',
    summary:
      'Places keys by another number of partitions, once the named groups have passed the existing messages.',
    role: 'admin',
    way: 'wait',
    once: true,
    params: byTopic,
    body: z.strictObject({
      reason: authored.reason,
      partitions: z.number().int().min(1).max(100_000).describe('How many the topic has in its broker.'),
      groups: z
        .array(keptText)
        .max(100)
        .default([])
        .describe('Consumer groups that must have passed the existing messages.'),
      timeout: patience,
    }),
    answer: topicChange,
    run({ at, author, scope }, { body: { groups, partitions, timeout, ...body }, path: { topic } }) {
      scope.require(topic, topicUnknown(topic));
      return at.changePartitions(topic, partitions, { ...author(body), groups, timeout });
    },
  }),
  operation({
    name: 'verify',
    method: 'POST',
    path: '/verify',
    summary:
      'Compares messages with the logs of brokers, and reports broken promises. Looks back an hour, at most a week.',
    role: 'admin',
    way: 'wait',
    body: z.strictObject({
      since: z.exactOptional(givenTime),
      grace: z.exactOptional(span),
      tolerance: z.exactOptional(span),
      maxTransaction: z.exactOptional(span),
      maxDuplicates: z
        .exactOptional(z.number().min(0).max(1))
        .describe('Allowed share of duplicates; any if not given.'),
    }),
    answer: verified,
    run({ at, scope }, { body }) {
      scope.requireAll();
      const since = body.since ?? new Date(Date.now() - usuallyVerifiedMs);
      if (since.getTime() < Date.now() - longestVerifiedMs)
        throw new OutboxError(
          'OUTBOX_REQUEST_INVALID',
          '"since" is more than a week ago: the command verify has no limit.',
        );
      return at.verify({ ...body, since });
    },
  }),
  operation({
    name: 'adopt',
    method: 'POST',
    path: '/adopt',
    summary: 'Lets relays deliver from a database that was restored from a dump.',
    role: 'admin',
    way: 'wait',
    once: true,
    body: z.strictObject({
      newInstallation: z
        .exactOptional(z.boolean())
        .describe('True: the original goes on as well, so this one gets an id of its own.'),
    }),
    answer: adopted,
    run({ at, author, scope }, { body }) {
      scope.requireAll();
      const { actor } = author({});
      return at.adopt({ actor, ...body });
    },
  }),
];

function scopeOf(
  scope: Call['scope'],
  { topic, transport }: { readonly topic?: string; readonly transport?: string },
): PauseScope {
  if (topic !== undefined && transport === undefined) {
    scope.require(topic, topicUnknown(topic));
    return { topic };
  }
  if (transport === undefined || topic !== undefined)
    throw new OutboxError('OUTBOX_REQUEST_INVALID', 'Name either a "topic" or a "transport".');
  scope.requireAll();
  return { transport };
}
