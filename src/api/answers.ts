import type { Silenced } from '../operations/alerts/silence.ts';
import type { AlertStatus } from '../operations/alerts/status.ts';
import type { BulkAnswer } from '../operations/bulk/start.ts';
import type { BulkOperation, BulkStepAnswer } from '../operations/bulk/steps.ts';
import type { KeptAnswer, MessageAnswer } from '../operations/change.ts';
import type { Adoption } from '../operations/delivery/adopt.ts';
import type { TopicChangeAnswer } from '../operations/delivery/lanes.ts';
import type { PauseAnswer } from '../operations/delivery/pause.ts';
import type { Status } from '../operations/delivery/status.ts';
import type { Edited } from '../operations/edit.ts';
import type { KeptDetails, NotKept } from '../operations/inbox/show.ts';
import type { KeptList, MessageList } from '../operations/list.ts';
import type { MessageDetails } from '../operations/messages/show.ts';
import type { TailedMessage } from '../operations/messages/tail.ts';
import type { ListedSchedule, ScheduleChange, ScheduleRun } from '../operations/schedules/schedules.ts';
import type { VerifyReport } from '../operations/verify/report.ts';
import type { Role } from './authentication.ts';

/**
 * Every answer of the API by its name in the OpenAPI document, whose schemas are made of these types and their docstrings: as JSON has
 * them, so that a `Date` is a text.
 */
export interface Answers {
  readonly Adoption: Adoption;
  readonly Alerts: AlertStatus;
  readonly Bulk: BulkOperation;
  readonly BulkList: BulkList;
  readonly BulkStart: BulkAnswer | BulkAnswer<KeptList['messages'][number]>;
  readonly BulkStep: BulkStepAnswer;
  readonly Changed: ScheduleChange;
  readonly Copy: Edited;
  readonly Kept: KeptWithoutContents | NotKept;
  readonly KeptAnswers: KeptAnswers;
  readonly KeptPage: MessageList<KeptList['messages'][number]>;
  readonly Me: Me;
  readonly Message: DetailsWithoutContents;
  readonly MessageAnswer: MessageAnswer<string>;
  readonly MessageAnswers: MessageAnswers;
  readonly MessagePage: MessageList;
  readonly Paused: PauseAnswer;
  readonly Revealed: Revealed;
  readonly ScheduleRun: ScheduleRun;
  readonly Schedules: ScheduleList;
  readonly Silenced: Silenced;
  readonly Status: Status;
  readonly TailedMessage: TailedMessage;
  readonly TopicChange: TopicChangeAnswer;
  readonly Trouble: StreamTrouble;
  readonly Verified: VerifyReport;
}

/** The name of an answer. */
export type AnswerName = keyof Answers;

/** The caller's rights. */
export interface Me {
  readonly name: string;
  readonly role: Role;
  /** True: may read payloads and headers. */
  readonly payloads: boolean;
  /** The topics to which the caller is limited; `null`: all. */
  readonly topics: readonly string[] | null;
  /** Names of the operations that the rights allow. */
  readonly operations: readonly string[];
}

/** A payload and its headers. */
export interface Revealed {
  readonly id: string;
  readonly contentType: string | null;
  /** As stored; for JSON exactly its text. `null`: none, `base64`, or expunged. */
  readonly payload: string | null;
  /** A payload that is not text. */
  readonly base64: string | null;
  readonly headers: Readonly<Record<string, string>> | null;
}

/** Everything about a message but its payload and headers. */
export interface DetailsWithoutContents extends Omit<MessageDetails, 'message'> {
  /** `null`: only groups know it. */
  readonly message: Omit<NonNullable<MessageDetails['message']>, 'headers' | 'payload'> | null;
}

/** Everything about a kept message but its body and headers. */
export interface KeptWithoutContents extends Omit<KeptDetails, 'message'> {
  readonly message: Omit<KeptDetails['message'], 'body' | 'headers'>;
}

/** What was done to each message. */
export interface MessageAnswers {
  /** One per message, in the order of the ids. */
  readonly answers: readonly MessageAnswer<string>[];
}

/** What was done to each kept message. */
export interface KeptAnswers {
  /** One per message, in the order of the ids. */
  readonly answers: readonly KeptAnswer<string>[];
}

/** Bulk operations, newest first. */
export interface BulkList {
  readonly bulks: readonly BulkOperation[];
}

/** Schedules, by name. */
export interface ScheduleList {
  readonly schedules: readonly ListedSchedule[];
}

/** Why a stream has nothing to tell for now. */
export interface StreamTrouble {
  readonly code: string;
}
