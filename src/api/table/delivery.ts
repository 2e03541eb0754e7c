import { OutboxError } from '../../core/errors.ts';
import { listOf } from '../../core/options/collections.ts';
import { flag, optional, value, whole } from '../../core/options/values.ts';
import type { PauseScope } from '../../operations/delivery/pause.ts';
import { asSentence, operationTexts, optionTexts } from '../../operations/descriptions.ts';
import {
  authored,
  givenTime,
  keptText,
  meaning,
  patience,
  patienceForm,
  shortName,
  span,
  spanForm,
  timeForm,
  topicName,
} from '../../operations/inputs/values.ts';
import { naming } from '../known.ts';
import { statusSeenBy } from '../live/seen-status.ts';
import { type Call, type Operation, operation } from '../operation.ts';
import { topicUnknown } from '../scope.ts';

const byTopic = { topic: topicName };
/** What a pause or resume is of. */
const scopeInputs = {
  topic: meaning(optional(topicName), optionTexts.topic),
  transport: meaning(optional(shortName), optionTexts.transport),
};
const share = value(
  'a number from 0 to 1',
  (given) => (typeof given === 'number' && given >= 0 && given <= 1 ? given : undefined),
  undefined,
  { schema: { type: 'number', minimum: 0, maximum: 1 } },
);
/** How far a verification may look back: it reads all of that from the brokers. */
const longestVerifiedMs = 7 * 24 * 60 * 60 * 1_000;
const usuallyVerifiedMs = 60 * 60 * 1_000;

function notDone(answer: object): boolean {
  return 'done' in answer && answer.done === false;
}

/** Operations on the delivery as a whole. */
export const deliveryRoutes: readonly Operation[] = [
  operation({
    name: 'showStatus',
    method: 'GET',
    path: '/status',
    summary: `${asSentence(operationTexts.status)} For a caller that is limited, only its topics.`,
    role: 'viewer',
    way: 'read',
    answer: 'Status',
    run: async ({ at, scope }) => statusSeenBy(scope, await at.status()),
  }),
  operation({
    name: 'pause',
    method: 'POST',
    path: '/pause',
    summary: asSentence(operationTexts.pause),
    role: 'operator',
    way: 'wait',
    once: true,
    body: {
      ...authored,
      ...scopeInputs,
      timeout: meaning(patience, optionTexts.waitForRelays, patienceForm),
    },
    answer: 'Paused',
    unfinished: (answer) => 'complete' in answer && answer.complete === false,
    run(call, { body }) {
      const scope = scopeOf(call.scope, body);
      return naming(call, scope, () => call.at.pause(scope, { ...call.author(body), timeout: body.timeout }));
    },
  }),
  operation({
    name: 'resume',
    method: 'POST',
    path: '/resume',
    summary: asSentence(operationTexts.resume),
    role: 'operator',
    way: 'change',
    once: true,
    body: { ...authored, ...scopeInputs },
    answer: 'Changed',
    run(call, { body }) {
      const scope = scopeOf(call.scope, body);
      return naming(call, scope, () => call.at.resume(scope, call.author(body)));
    },
  }),
  operation({
    name: 'changeLanes',
    method: 'POST',
    path: '/topics/{topic}/lanes',
    summary: `${asSentence(operationTexts.lanes)} It is not delivered until the answer says that it is done.`,
    role: 'admin',
    way: 'wait',
    once: true,
    params: byTopic,
    body: {
      reason: authored.reason,
      lanes: meaning(whole(1, 1_024), 'how many there shall be'),
      timeout: meaning(patience, optionTexts.waitForLanes, patienceForm),
    },
    answer: 'TopicChange',
    unfinished: notDone,
    run(call, { body: { lanes, timeout, ...body }, path: { topic } }) {
      call.scope.require(topic, topicUnknown(topic));
      return naming(call, { topic }, () =>
        call.at.changeLanes(topic, lanes, { ...call.author(body), timeout }),
      );
    },
  }),
  operation({
    name: 'changePartitions',
    method: 'POST',
    path: '/topics/{topic}/partitions',
    summary: `${asSentence(operationTexts.partitions)} It waits until the named groups have passed the existing messages.`,
    role: 'admin',
    way: 'wait',
    once: true,
    params: byTopic,
    body: {
      reason: authored.reason,
      partitions: meaning(whole(1, 100_000), 'how many the topic has in its broker'),
      groups: meaning(
        optional(listOf(keptText, 'a list of at most 100 names', { most: 100 })),
        optionTexts.partitionGroups,
      ),
      timeout: meaning(patience, optionTexts.waitForPartitions, patienceForm),
    },
    answer: 'TopicChange',
    unfinished: notDone,
    run(call, { body: { groups = [], partitions, timeout, ...body }, path: { topic } }) {
      call.scope.require(topic, topicUnknown(topic));
      return naming(call, { topic }, () =>
        call.at.changePartitions(topic, partitions, { ...call.author(body), groups, timeout }),
      );
    },
  }),
  operation({
    name: 'verify',
    method: 'POST',
    path: '/verify',
    summary: `${asSentence(operationTexts.verify)} Looks back an hour, at most a week.`,
    role: 'admin',
    allTopics: true,
    way: 'long',
    body: {
      since: meaning(optional(givenTime), optionTexts.since, timeForm),
      grace: meaning(optional(span), optionTexts.grace, spanForm),
      tolerance: meaning(optional(span), optionTexts.tolerance, spanForm),
      maxTransaction: meaning(optional(span), optionTexts.maxTransaction, spanForm),
      maxDuplicates: meaning(optional(share), optionTexts.maxDuplicates),
    },
    answer: 'Verified',
    run({ at }, { body }) {
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
    summary: asSentence(operationTexts.adopt),
    role: 'admin',
    allTopics: true,
    way: 'long',
    once: true,
    body: {
      newInstallation: meaning(optional(flag()), optionTexts.newInstallation),
    },
    answer: 'Adoption',
    run({ at, author }, { body }) {
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
