export { type Operations, type OperationsConfig, operations } from './app/operations/operations.ts';
export type { VerifyOperations, VerifyOptions } from './app/operations/verify-operations.ts';
export type { DatabaseConfig } from './config/database-config.ts';
export type { GroupConfig } from './config/groups-config.ts';
export type { TemporalConfig } from './config/temporal-config.ts';
export type { Due } from './core/due.ts';
export type { Duration } from './core/duration.ts';
export { errorRules, OutboxError, type OutboxErrorCode } from './core/errors.ts';
export type { Lane } from './core/lane.ts';
export type { Lazy } from './core/options/lazy.ts';
export type { KeptState } from './core/parked-states.ts';
export type { ConfirmRules, RateRules, Topic, TopicRules } from './core/topic.ts';
export type { Upcast, VersionRules } from './core/topic-version.ts';
export type { State } from './core/transitions.ts';
export type { AlertOperations } from './operations/alerts/alerts.ts';
export type { Silenced, SilenceOptions } from './operations/alerts/silence.ts';
export type { AlertDestination, AlertSilence, AlertStatus, ListedAlert } from './operations/alerts/status.ts';
export type {
  BulkOperations,
  BulkTask,
  KeptBulkOperations,
  KeptGroupFilter,
  KeptTask,
  ReplayTask,
} from './operations/bulk/bulk.ts';
export type { BulkOptions } from './operations/bulk/checks.ts';
export type { BulkAnswer } from './operations/bulk/start.ts';
export type { BulkOperation, BulkProgress } from './operations/bulk/steps.ts';
export type { KeptTarget, Target } from './operations/change.ts';
export type { AdoptOptions } from './operations/delivery/adopt.ts';
export type { DeliveryOperations } from './operations/delivery/delivery.ts';
export type { LanesChangeOptions, TopicChangeAnswer } from './operations/delivery/lanes.ts';
export type { PartitionOptions } from './operations/delivery/partitions.ts';
export type { PauseAnswer, PauseOptions, ResumeAnswer } from './operations/delivery/pause.ts';
export type {
  BreakerStatus,
  GroupLag,
  GroupStatus,
  LaneLock,
  LaneStatus,
  RelayStatus,
  SeenConsumer,
  ServerStatus,
  Setting,
  Status,
  TopicPolicyRow,
} from './operations/delivery/status.ts';
export type { Edited } from './operations/edit.ts';
export type { EditOptions } from './operations/edit-content.ts';
export type { InboxOperations } from './operations/inbox/inbox.ts';
export type {
  RewindAnswer,
  RewindOptions,
  RewoundAddress,
  RewoundPartition,
} from './operations/inbox/rewind.ts';
export type { KeptDetails, KeptKey, NotKept, ShownKept } from './operations/inbox/show.ts';
export type { KeptWhy } from './operations/inbox/why.ts';
export type { KeptList, ListPageOptions, MessageList } from './operations/list.ts';
export type { MessageOperations, RescheduleOptions } from './operations/messages/messages.ts';
export type { MessageDetails, ShowOptions } from './operations/messages/show.ts';
export type { TailedMessage, TailOptions } from './operations/messages/tail.ts';
export type { Why } from './operations/messages/why.ts';
export type { WithdrawOptions } from './operations/messages/withdraw.ts';
export type { OperationOptions } from './operations/operation-options.ts';
export type {
  ScheduleChange,
  ScheduleOperations,
  ScheduleRun,
} from './operations/schedules/schedules.ts';
export type { TimelineEntry } from './operations/timeline/entry.ts';
export type { Invariant, InvariantResult, VerifyReport } from './operations/verify/report.ts';
export type { VerifyBounds } from './operations/verify/verify.ts';
export type {
  BulkAction,
  BulkCounts,
  BulkRow,
  BulkScope,
  BulkStanding,
  BulkState,
  BulkStepAnswer,
  KeptAction,
  ReplayTarget,
} from './store/bulk/bulk.ts';
export type { KeptBulkFilter } from './store/bulk/kept-selection.ts';
export type { BulkFilter } from './store/bulk/selection.ts';
export type { KeptAnswer, KeptRefusal, KeptRetried } from './store/inbox/change.ts';
export type { OwnedPartitions } from './store/inbox/consumers.ts';
export type { KeptName } from './store/inbox/edit.ts';
export type { LastHandled } from './store/inbox/last-handled.ts';
export type { KeptFilter, KeptListFilter, ListedKept } from './store/inbox/list.ts';
export type { StoredKept } from './store/inbox/show.ts';
export type { Adoption } from './store/installation/adopt.ts';
export type { ServerView } from './store/installation/relays.ts';
export type { Twin } from './store/installation/twin.ts';
export type { LaneHold } from './store/lane/lease.ts';
export type { LeasedLane, PauseScope } from './store/lane/pause.ts';
export type { PartitionRanges } from './store/lane/settle.ts';
export type { ChangeRefusal, MessageAnswer } from './store/message/change.ts';
export type { Expunged } from './store/message/expunge.ts';
export type { Keeper } from './store/message/keepers.ts';
export type { ListedMessage, MessageFilter } from './store/message/list.ts';
export type { NewDue, Rescheduled } from './store/message/reschedule.ts';
export type { ShownAttempt, ShownAudit, ShownMessage } from './store/message/show.ts';
export type { ShownDelivery } from './store/message/show-delivery.ts';
export type { ListedSchedule } from './store/schedule/list.ts';
export type { EffectsQuery } from './store/verify/effects.ts';
export type { Violation } from './store/verify/finding.ts';
export type { DueCursor } from './store/verify/reconcile.ts';
export type { Reconciliation, ReconciliationResume } from './store/verify/reconciliation.ts';
