import type { GroupStatus } from '../inbox/status.ts';
import type { CertificateLeft } from '../installation/certificates.ts';
import type { GroupLag } from '../installation/relays.ts';
import type { ServerStatus } from '../installation/servers.ts';
import type { LaneHold } from '../lane/lease.ts';

/** States in which messages wait for something. */
export const countedStates = ['ready', 'blocked', 'retrying', 'waiting', 'failed'] as const;
export type CountedState = (typeof countedStates)[number];

/** Messages of a topic in one state. */
export interface MessageCount {
  readonly topic: string;
  readonly state: CountedState;
  /** Counting stops at 10,000: of ready ones per lane, of waiting ones in all topics together. */
  readonly messages: number;
}

/** How late a topic is. */
export interface DueTopic {
  readonly topic: string;
  /** False: no relay has announced it, so none delivers it. */
  readonly announced: boolean;
  /** Age of its oldest message that is due and not published; `null`: none is due. */
  readonly oldestDueMs: number | null;
  /** Why that waits, as a clause; `null`: nothing, or only load, holds it up. */
  readonly reason: string | null;
}

/** A topic whose lanes wait for something that cannot be used. */
export interface TopicHold {
  readonly topic: string;
  /** Number of its lanes that wait. */
  readonly lanes: number;
  /** Milliseconds since the first of them began to wait, on the database's clock. */
  readonly heldMs: number;
  readonly scope: LaneHold['scope'];
  /** Text of the error that began it. */
  readonly reason: string;
}

/** A server that relays need, and since when some relay gets no answer. */
export interface ServerFigures extends ServerStatus {
  /** Milliseconds since a reading first found a relay that it does not answer, or that lacks something there; `null`: all is well. */
  readonly awayMs: number | null;
}

/** A consumer group of this database, and whether anybody reads for it. */
export interface AttendedGroup {
  readonly group: string;
  /** Consumers that run. */
  readonly consumers: number;
  /** Milliseconds since one was last seen; `null`: never. */
  readonly seenMs: number | null;
  /** Messages that it has not read, over all topics of which that is known. */
  readonly unread: number;
}

/** An address that a consumer's breaker pauses. */
export interface PausedByGroup {
  readonly group: string;
  readonly address: string;
  /** For how long; of several consumers the longest. */
  readonly pausedMs: number;
  /** The error of the last message that failed, without values of its payload. */
  readonly error: string;
}

/** A consumer group for which messages wait. */
export interface StandingGroup {
  readonly group: string;
  readonly topic: string;
  /** How long it had stood at one message of a partition when a relay last looked; of one that moves, 0 or the time between two looks. */
  readonly standsMs: number;
  /** Milliseconds since it was first seen at that message. */
  readonly sinceMs: number;
}

/** Overdue receipts of a topic. */
export interface OverdueReceipts {
  readonly topic: string;
  /** Counting stops at 10,000. */
  readonly messages: number;
  /** Milliseconds since the first of them was due. */
  readonly oldestMs: number;
}

/** What only the database knows, as one relay reads it for all. */
export interface Figures {
  /** Age of the oldest message that is due and not published; `null`: none is due. */
  readonly oldestDueMs: number | null;
  /** The same by topic, of all topics that relays have announced, or that have messages. */
  readonly due: readonly DueTopic[];
  /** How late the oldest waiting or retrying message is that nobody has released; `null`: none is. */
  readonly unreleasedMs: number | null;
  /** Only topics and states with messages. */
  readonly messages: readonly MessageCount[];
  /** Tries to publish in the last five minutes, counting up to some 10,000 failures and 10,000 batches of each lane. */
  readonly tries: { readonly published: number; readonly failed: number };
  /** Topics on hold, the longest first. */
  readonly holds: readonly TopicHold[];
  /** Groups whose inbox is in this database; counting stops at 10,000 each. */
  readonly groups: readonly GroupStatus[];
  /** Of these groups at the brokers, as living relays saw them. */
  readonly lags: readonly GroupLag[];
  /** These groups, and whether consumers of them run. */
  readonly attended: readonly AttendedGroup[];
  /** Longest pause first. */
  readonly pausedAddresses: readonly PausedByGroup[];
  /** Empty, unless the configuration watches groups. */
  readonly standing: readonly StandingGroup[];
  readonly receiptsOverdue: readonly OverdueReceipts[];
  /** How long something should have moved to the history already, and the closed leaves of the log that have not. */
  readonly archive: { readonly behindMs: number; readonly leaves: number };
  /** Of the last comparison of rows with workflows; `null`: none has run. */
  readonly drift: { readonly restarted: number; readonly ended: number; readonly agoMs: number } | null;
  readonly servers: readonly ServerFigures[];
  /** Of the servers that living relays reach by TLS, the first that expires first. */
  readonly certificates: readonly CertificateLeft[];
  /** Number of living relays. */
  readonly relays: number;
  /** Of each host with living relays, the one that differs most first. */
  readonly clocks: readonly HostClock[];
}

/** The clock of a host of relays. */
interface HostClock {
  readonly host: string;
  /** How far it is ahead of the database's, in milliseconds; exact to half of the time of a query. */
  readonly aheadMs: number;
}

/** The figures that some relay has read last. */
export interface NotedFigures {
  readonly figures: Figures;
  /** Number of the reading: each has a higher one. */
  readonly number: string;
  /** Milliseconds since they were noted, never negative. */
  readonly agoMs: number;
}
