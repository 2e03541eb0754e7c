import { createHash } from 'node:crypto';
import { timeInWords } from '../core/time-in-words.ts';
import type { AlertNews } from '../store/alerts/alerts.ts';
import { runbookOf } from './runbook-entry.ts';

/** Several alerts in one message. */
export interface AlertMessage {
  /** The same for the same news, so that a receiver can drop a repeat. */
  readonly id: string;
  /** One line. */
  readonly title: string;
  /** One or two lines per alert. */
  readonly lines: readonly string[];
  /** The same for programs. */
  readonly alerts: readonly AlertInMessage[];
}

/** One alert of a message. */
export interface AlertInMessage {
  readonly rule: string;
  readonly subject: string;
  readonly state: 'firing' | 'over' | 'test';
  readonly figure: number;
  readonly text: string;
  /** ISO time. */
  readonly since: string;
  readonly until: string | null;
  /** The command to run. */
  readonly next: string;
  /** What it means and what to do, as a path in the package; `null`: nothing. */
  readonly runbook: string | null;
}

/**
 * Words a message.
 *
 * @param from the installation that it is about: its database
 */
export function messageOfNews(news: readonly AlertNews[], from: string): AlertMessage {
  const firing = news.filter(({ overAt }) => overAt === null).length;
  const counts = [
    ...(firing === 0 ? [] : [`${firing} ${firing === 1 ? 'alert' : 'alerts'}`]),
    ...(firing === news.length ? [] : [`${news.length - firing} over`]),
  ];
  return {
    id: idOf(from, news),
    title: `temporal-outbox of ${from}: ${counts.join(', ')}`,
    lines: news.map((one) =>
      one.overAt === null ? `${lineOf(one)}\nRunbook: ${runbookOf(one.rule)}` : lineOf(one),
    ),
    alerts: news.map(({ figure, next, overAt, rule, since, subject, text }) => ({
      rule,
      subject,
      state: overAt === null ? 'firing' : 'over',
      figure,
      text,
      since: since.toISOString(),
      until: overAt?.toISOString() ?? null,
      next,
      runbook: runbookOf(rule),
    })),
  };
}

/** What `alerts test` sends. */
export function testMessage(from: string, now: Date): AlertMessage {
  const text = 'this is a test, and nothing is wrong';
  const next = 'temporal-outbox alerts';
  const since = now.toISOString();
  return {
    id: `test_${now.getTime()}`,
    title: `temporal-outbox of ${from}: test alert`,
    lines: [`TEST: ${text}. Next: ${next}`],
    alerts: [
      { rule: 'test', subject: '', state: 'test', figure: 0, text, since, until: null, next, runbook: null },
    ],
  };
}

function lineOf({ known, next, overAt, rule, since, text }: AlertNews): string {
  if (overAt !== null) {
    const lasted = timeInWords(Math.max(0, overAt.getTime() - since.getTime()));
    return `OVER ${rule}, after ${lasted}, at ${clockTime(overAt)}. It was: ${text}`;
  }
  return `${known ? 'STILL ' : ''}FIRING ${rule}: ${text}. Since ${clockTime(since)}. Next: ${next}`;
}

function clockTime(at: Date): string {
  return `${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

function idOf(from: string, news: readonly AlertNews[]): string {
  const named = news.map(({ news: number, rule, since, subject }) => [rule, subject, since, number]);
  const hash = createHash('sha256').update(JSON.stringify([from, named]));
  return `alert_${hash.digest('hex').slice(0, 32)}`;
}
