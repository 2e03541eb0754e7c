export {
  operations,
  type Operations,
  type OperationsConfig,
  type RescheduleAsk,
} from './config/operations.ts';
export type { BulkOperations, BulkTask } from './config/bulk-operations.ts';
export type { InboxOperations, KeptAction } from './config/inbox-operations.ts';
export type { KeptState } from './core/parked-states.ts';
export type { Ask, Target } from './operations/ask.ts';
export type { BulkAnswer, BulkOperation } from './operations/bulk.ts';
export type { BulkAsk } from './operations/bulk-filter.ts';
export type { EditAsk, Edited } from './operations/edit.ts';
export type { KeptManyAnswer } from './operations/inbox/change-many.ts';
export type { KeptFilter, KeptTarget } from './operations/inbox/kept-target.ts';
export type { KeptList } from './operations/inbox/list.ts';
export type { KeptDetails, KeptKey, NotKept, ShownKept } from './operations/inbox/show.ts';
export type { KeptWhy } from './operations/inbox/why.ts';
export type { ListPageOptions, MessageList } from './operations/list.ts';
export type { PauseAnswer, PauseAsk, ResumeAnswer } from './operations/pause.ts';
export type { MessageDetails } from './operations/show.ts';
export type {
  BreakerStatus,
  GroupLag,
  GroupStatus,
  LaneLock,
  LaneStatus,
  RelayStatus,
  ServerStatus,
  Setting,
  Status,
  TopicPolicyRow,
} from './operations/status.ts';
export type { Why } from './operations/why.ts';
export type { WithdrawAsk } from './operations/withdraw.ts';
export type { BulkAction, BulkCounts, BulkState, BulkStepAnswer } from './store/bulk.ts';
export type { LaneHold } from './store/lease.ts';
export type { MessageAnswer, Refusal } from './store/operate/change-messages.ts';
export type { KeptAnswer, KeptRefusal } from './store/operate/inbox-change.ts';
export type { KeptName } from './store/operate/inbox-edit.ts';
export type { HeldLane, PauseScope } from './store/operate/pause.ts';
export type { Rescheduled } from './store/operate/reschedule.ts';
export type { BulkFilter, SampledMessage } from './store/queries/bulk-selection.ts';
export type { ListedKept } from './store/queries/inbox-list.ts';
export type { ListedMessage, MessageFilter } from './store/queries/list.ts';
export type { ShownAttempt, ShownAudit, ShownMessage } from './store/queries/show.ts';
export type { ServerView } from './store/relays.ts';
export type { ShownDelivery } from './store/queries/show-delivery.ts';
