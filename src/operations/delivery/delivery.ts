import type { DeclaredTable } from '../declared.ts';
import { adoption, keptGroups, ofTopic, paused } from '../inputs/delivery.ts';
import { authored, waiting } from '../inputs/values.ts';
import { assertWays, type OperationOptions } from '../operation-options.ts';
import { type Adoption, type AdoptOptions, adopt } from './adopt.ts';
import { changeLanes, type LanesChangeOptions, type TopicChangeAnswer } from './lanes.ts';
import { changePartitions, type PartitionOptions } from './partitions.ts';
import {
  type PauseAnswer,
  type PauseOptions,
  type PauseScope,
  pause,
  type ResumeAnswer,
  resume,
} from './pause.ts';
import { type Status, statusOf } from './status.ts';

/** What an operator may do with the delivery as a whole. */
export interface DeliveryOperations {
  /** State of topics, lanes and holds. */
  status(): Promise<Status>;
  /** Stops the delivery of a topic, or of all topics of a transport. The answer says whether relays have stopped. */
  pause(scope: PauseScope, options: PauseOptions): Promise<PauseAnswer>;
  /** Ends the pause. */
  resume(scope: PauseScope, options: OperationOptions): Promise<ResumeAnswer>;
  /**
   * Changes the number of lanes of a topic without blocking writers; keys keep their order. The topic is not delivered
   * until the change is done: if the answer says that it is not, repeat the call.
   */
  changeLanes(topic: string, lanes: number, options: LanesChangeOptions): Promise<TopicChangeAnswer>;
  /** Places keys by another number of partitions, once the named consumer groups have passed the existing messages. */
  changePartitions(topic: string, partitions: number, options: PartitionOptions): Promise<TopicChangeAnswer>;
  /** Lets relays deliver from a database that was restored from a dump. Locks the outbox while rewriting it. */
  adopt(options: AdoptOptions): Promise<Adoption>;
}

const ofScope = { of: { scope: paused }, role: 'operator', check: assertScope } as const;
const { reason } = authored;

/** The operations on the delivery. */
export const deliveryTable = {
  status: {
    text: 'show topics, lanes, holds and the oldest due message',
    overHttp: 'For a caller that is limited, only its topics.',
    role: 'viewer',
    run: ({ database }) => statusOf(database),
  },
  pause: {
    text: 'stop the delivery of a topic or transport',
    ...ofScope,
    options: { ...authored, ...waiting('waitForRelays') },
    run: ({ database }, scope, options) => pause(database, scope, options),
  },
  resume: {
    text: 'resume the delivery of a topic or transport',
    ...ofScope,
    options: authored,
    run: ({ database }, scope, options) => resume(database, scope, options),
  },
  changeLanes: {
    text: 'change the number of lanes of a topic',
    overHttp: 'It is not delivered until the answer says that it is done.',
    role: 'admin',
    of: ofTopic.lanes,
    options: { reason, ...waiting('waitForLanes') },
    otherOptions: ['signal'],
    run: ({ database }, topic, lanes, options) => changeLanes(database, topic, lanes, options),
  },
  changePartitions: {
    text: 'place keys by another number of partitions',
    overHttp: 'It waits until the named groups have passed the existing messages.',
    role: 'admin',
    of: ofTopic.partitions,
    options: { reason, groups: keptGroups, ...waiting('waitForPartitions') },
    otherOptions: ['signal'],
    run: ({ brokerOf, database }, topic, partitions, options) =>
      changePartitions(database, brokerOf, topic, partitions, options),
  },
  adopt: {
    text: 'let relays deliver from a database that was restored from a dump',
    role: 'admin',
    allTopics: true,
    options: adoption,
    run: ({ database }, options) => adopt(database, options),
  },
} satisfies DeclaredTable<DeliveryOperations>;

function assertScope(scope: PauseScope): void {
  assertWays('a scope', [['topic'], ['transport']], scope);
}
