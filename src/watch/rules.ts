import { shellWord } from '../core/shell-word.ts';
import type { AlertRule, Measured } from './alert-rule.ts';
import { inUnit } from './units.ts';

const minute = 60_000;
const hour = 60 * minute;
/** Temporal may be away since the last comparison, and one of hours ago is no news. */
const recent = 15 * minute;
/** With fewer tries, one failure is a large share. */
const fewTries = 20;

const status = (): string => 'temporal-outbox status';
const doctor = (): string => 'temporal-outbox doctor';
const whole = (figure: number | null, because?: string): readonly Measured[] =>
  figure === null ? [] : [{ subject: '', figure, ...(because !== undefined && { because }) }];
const about = (kind: string, name: string): string => `${kind} ${name}`;
/** `billing` of `group billing`. */
const nameIn = (subject: string): string => subject.slice(subject.indexOf(' ') + 1);
/** The same in a command, which people copy into a shell. */
const wordIn = (subject: string): string => shellWord(nameIn(subject));
const isGroup = (subject: string): boolean => subject.startsWith('group ');

/** Every rule, by the name of its setting. */
export const alertRules = {
  oldestDue: {
    measures: 'age of the oldest message of a topic that is due and not published',
    unit: 'time',
    lasts: true,
    normal: minute,
    measure: ({ due }) =>
      due
        .filter(({ announced }) => announced)
        .map(({ oldestDueMs, reason, topic }) => ({
          subject: about('topic', topic),
          figure: oldestDueMs ?? -1,
          ...(reason !== null && { because: reason }),
        })),
    says: (figure, subject) => `the oldest due message of ${subject} has waited for ${figure}`,
    next: status,
  },
  unannounced: {
    measures: 'age of the oldest due message of a topic that no relay delivers',
    unit: 'time',
    lasts: true,
    normal: minute,
    measure: ({ due }) =>
      due
        .filter(({ announced }) => !announced)
        .map(({ oldestDueMs, topic }) => ({
          subject: about('topic', topic),
          figure: oldestDueMs ?? -1,
          because: 'add it to `topics`, or withdraw its messages',
        })),
    says: (figure, subject) => `no relay delivers ${subject}, of which a message has been due for ${figure}`,
    next: (subject) => `temporal-outbox list --topic ${wordIn(subject)}`,
  },
  successRate: {
    measures: `share of the tries of the last five minutes that published, of at least ${fewTries}; below it`,
    unit: 'share',
    normal: 0.99,
    below: true,
    measure({ tries: { failed, published } }) {
      const tries = failed + published;
      return tries < fewTries ? [] : whole(published / tries, `${failed} of ${tries} tries failed`);
    },
    says: (figure) => `${figure} of the tries of the last five minutes succeeded`,
    next: () => 'temporal-outbox list --state retrying,failed',
  },
  lateness: {
    measures: 'how late a delayed message, or the next try of one, is released',
    unit: 'time',
    lasts: true,
    normal: minute,
    measure: ({ unreleasedMs }) => whole(unreleasedMs),
    says: (figure) => `a delayed message is ${figure} late`,
    next: doctor,
  },
  failed: {
    measures: 'messages of a topic, or kept by a group, that have failed for good',
    unit: 'messages',
    normal: 0,
    measure: ({ groups, messages }) => [
      ...messages
        .filter(({ state }) => state === 'failed')
        .map(({ messages: figure, topic }) => ({ subject: about('topic', topic), figure })),
      ...groups.map(({ failed: figure, group }) => ({ subject: about('group', group), figure })),
    ],
    says: (figure, subject) => `${figure} of ${subject} failed and wait for a person`,
    next: (subject) =>
      isGroup(subject)
        ? `temporal-outbox inbox list --group ${wordIn(subject)} --state failed`
        : `temporal-outbox list --topic ${wordIn(subject)} --state failed`,
  },
  hold: {
    measures: 'how long a topic has waited for its broker or address',
    unit: 'time',
    lasts: true,
    normal: minute,
    measure: ({ holds }) =>
      holds.map(({ heldMs, reason, topic }) => ({
        subject: about('topic', topic),
        figure: heldMs,
        because: reason,
      })),
    says: (figure, subject) => `${subject} has been on hold for ${figure}`,
    next: status,
  },
  receipts: {
    measures: 'how long the receipt of a published message has been overdue',
    unit: 'time',
    lasts: true,
    // Of a group that is only behind it is overdue for a moment, until a relay has asked how far the group is.
    normal: 10 * minute,
    measure: ({ receiptsOverdue }) =>
      receiptsOverdue.map(({ messages, oldestMs, topic }) => ({
        subject: about('topic', topic),
        figure: oldestMs,
        because: `${inUnit('messages', messages)} of it lack theirs`,
      })),
    says: (figure, subject) => `a receipt of ${subject} has been overdue for ${figure}`,
    next: status,
  },
  parked: {
    measures: 'how long a message has been parked by a group',
    unit: 'time',
    lasts: true,
    normal: 15 * minute,
    measure: ({ groups }) =>
      groups.map(({ blockedKeys, group, oldestParkedMs, parked }) => ({
        subject: about('group', group),
        figure: oldestParkedMs ?? 0,
        because: `${parked} are parked, and ${blockedKeys} keys wait for a person`,
      })),
    says: (figure, subject) => `a message of ${subject} has been parked for ${figure}`,
    next: (subject) => `temporal-outbox inbox list --group ${wordIn(subject)} --head`,
  },
  lag: {
    measures: 'messages of a topic that a group has not read',
    unit: 'messages',
    normal: 10_000,
    measure: ({ lags }) =>
      lags.map(({ group, messages, topic }) => ({
        subject: about('group', `${group} of ${topic}`),
        figure: messages,
      })),
    says: (figure, subject) => `${subject} is ${figure} behind`,
    next: status,
  },
  noConsumer: {
    measures: 'how long no consumer of a group has run while messages wait for it',
    unit: 'time',
    lasts: true,
    normal: 5 * minute,
    measure: ({ attended }) =>
      attended
        .filter(({ consumers, unread }) => consumers === 0 && unread > 0)
        .map(({ group, seenMs, unread }) => ({
          subject: about('group', group),
          figure: seenMs ?? -1,
          because: `${inUnit('messages', unread)} wait for it`,
        })),
    says: (figure, subject) => `no consumer of ${subject} has run for ${figure}`,
    next: status,
  },
  pausedAddress: {
    measures: 'how long the breaker of a consumer has paused an address, because most of its keys fail',
    unit: 'time',
    lasts: true,
    normal: 2 * minute,
    measure: ({ pausedAddresses }) =>
      pausedAddresses.map(({ address, error, group, pausedMs }) => ({
        subject: about('group', `${group} at ${address}`),
        figure: pausedMs,
        because: error,
      })),
    says: (figure, subject) => `${subject} has been paused for ${figure}: a dependency of its handlers fails`,
    next: status,
  },
  stalledGroup: {
    measures: 'how long a group has stood at one message of a partition while others wait',
    unit: 'time',
    lasts: true,
    normal: 15 * minute,
    measure: ({ standing }) =>
      standing.map(({ group, standsMs, topic }) => ({
        subject: about('group', `${group} of ${topic}`),
        figure: standsMs,
      })),
    says: (figure, subject) => `${subject} has not moved for ${figure}, and messages wait for it`,
    next: status,
  },
  drift: {
    measures: 'workflows that the last comparison with Temporal had to start or end',
    unit: 'workflows',
    normal: 10,
    measure: ({ drift }) =>
      drift === null || drift.agoMs > recent
        ? []
        : whole(drift.restarted + drift.ended, `${drift.restarted} started, ${drift.ended} ended`),
    says: (figure) => `the last comparison with Temporal repaired ${figure}`,
    next: doctor,
  },
  archive: {
    measures: 'how long finished messages have been due to move to the history',
    unit: 'time',
    lasts: true,
    normal: 24 * hour,
    measure: ({ archive: { behindMs, leaves } }) => whole(behindMs, `${leaves} leaves wait`),
    says: (figure) => `the archive is ${figure} behind`,
    next: doctor,
  },
  clock: {
    measures: "difference between the clocks of a relay's host and of the database",
    unit: 'time',
    normal: 2_000,
    measure: ({ clocks }) =>
      clocks.map(({ aheadMs, host }) => ({
        subject: about('host', host),
        figure: Math.abs(aheadMs),
        because: aheadMs > 0 ? 'it is ahead' : 'it is behind',
      })),
    says: (figure, subject) =>
      `the clock of ${subject}, where a relay runs, is off the database's by ${figure}`,
    next: (subject) => `temporal-outbox doctor # on ${wordIn(subject)}`,
  },
  serverAway: {
    measures: 'how long PostgreSQL, Temporal or a broker has not answered some relay',
    unit: 'time',
    lasts: true,
    normal: minute,
    measure: ({ servers }) =>
      servers.map(({ address, answering, awayMs, error, relays, server }) => ({
        subject: [server, address].filter((part) => part !== '').join(' '),
        figure: awayMs ?? -1,
        because: `${answering} of ${relays} relays reach it: ${error}`,
      })),
    says: (figure, subject) => `${subject} has been away for ${figure}`,
    next: doctor,
  },
  certificate: {
    measures: 'how long the certificates of a server reached by TLS, and of relays for it, are still valid',
    unit: 'time',
    normal: 14 * 24 * hour,
    below: true,
    measure: ({ certificates }) =>
      certificates.map(({ address, leftMs, server, whose }) => ({
        subject: about(server, address),
        figure: leftMs,
        because: whose === 'client' ? 'it is that of the relays' : 'it is that of the server',
      })),
    says: (figure, subject) =>
      figure.startsWith('-')
        ? `a certificate for ${subject} has expired, ${figure.slice(1)} ago`
        : `a certificate for ${subject} expires in ${figure}`,
    next: doctor,
  },
} satisfies Readonly<Record<string, AlertRule>>;

/** Name of a rule, and of its setting. */
export type AlertRuleName = keyof typeof alertRules;

/** All names. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of the table
export const alertRuleNames = Object.keys(alertRules) as readonly AlertRuleName[];

/** The threshold of each rule, in its unit; `false`: it is off. */
export type AlertThresholds = Readonly<Record<AlertRuleName, number | false>>;
