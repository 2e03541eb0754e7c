import { verifyTable } from '../../app/operations/verify-operations.ts';
import { OutboxError } from '../../core/errors.ts';
import { deliveryTable } from '../../operations/delivery/delivery.ts';
import type { PauseScope } from '../../operations/delivery/pause.ts';
import { ofTopic, pauseScope } from '../../operations/inputs/delivery.ts';
import { changeRequest, readRequest, rightsAndWords } from '../declared-request.ts';
import { naming } from '../known.ts';
import { statusSeenBy } from '../live/seen-status.ts';
import { type Call, type Operation, operation } from '../operation.ts';
import { topicUnknown } from '../scope.ts';

/** How far a verification may look back: it reads all of that from the brokers. */
const longestVerifiedMs = 7 * 24 * 60 * 60 * 1_000;
const usuallyVerifiedMs = 60 * 60 * 1_000;

function notDone(answer: object): boolean {
  return 'done' in answer && answer.done === false;
}

/** Operations on the delivery as a whole. */
export const deliveryRoutes: readonly Operation[] = [
  operation({
    ...readRequest(deliveryTable.status),
    name: 'showStatus',
    path: '/status',
    answer: 'Status',
    run: async ({ at, scope }) => statusSeenBy(scope, await at.status()),
  }),
  operation({
    ...changeRequest(deliveryTable.pause),
    name: 'pause',
    path: '/pause',
    way: 'wait',
    body: { ...deliveryTable.pause.options, ...pauseScope },
    answer: 'Paused',
    unfinished: (answer) => 'complete' in answer && answer.complete === false,
    run(call, { body }) {
      const scope = scopeOf(call.scope, body);
      return naming(call, scope, () => call.at.pause(scope, { ...call.author(body), timeout: body.timeout }));
    },
  }),
  operation({
    ...changeRequest(deliveryTable.resume),
    name: 'resume',
    path: '/resume',
    body: { ...deliveryTable.resume.options, ...pauseScope },
    answer: 'Changed',
    run(call, { body }) {
      const scope = scopeOf(call.scope, body);
      return naming(call, scope, () => call.at.resume(scope, call.author(body)));
    },
  }),
  operation({
    ...changeRequest(deliveryTable.changeLanes),
    name: 'changeLanes',
    path: '/topics/{topic}/lanes',
    way: 'wait',
    params: { topic: ofTopic.lanes.topic },
    body: { ...deliveryTable.changeLanes.options, lanes: ofTopic.lanes.lanes },
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
    ...changeRequest(deliveryTable.changePartitions),
    name: 'changePartitions',
    path: '/topics/{topic}/partitions',
    way: 'wait',
    params: { topic: ofTopic.partitions.topic },
    body: { ...deliveryTable.changePartitions.options, partitions: ofTopic.partitions.partitions },
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
    ...rightsAndWords(verifyTable.verify),
    name: 'verify',
    method: 'POST',
    path: '/verify',
    way: 'long',
    body: verifyTable.verify.query,
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
    ...changeRequest(deliveryTable.adopt),
    name: 'adopt',
    path: '/adopt',
    way: 'long',
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
