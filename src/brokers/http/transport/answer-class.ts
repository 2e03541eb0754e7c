import { reasonOf } from '../../../core/reason.ts';
import { isTlsFailure } from '../../../core/tls-failure.ts';
import { statedTime } from '../../../core/written-time.ts';
import type { SendOutcome } from '../../send-by-key.ts';
import type { HttpAnswer } from './exchange.ts';

/** What a response means for its message. */
type AnswerClass = 'acknowledged' | 'rejected' | 'permanent' | 'ambiguous';

/** By the first digit of the status. 5xx is ambiguous: the server may have done the work before it failed. */
const classesByDigit: Readonly<Record<number, AnswerClass>> = {
  2: 'acknowledged',
  3: 'rejected',
  4: 'rejected',
  5: 'ambiguous',
};

/** 410 Gone is permanent. */
const classesByStatus: Readonly<Record<number, AnswerClass>> = { 410: 'permanent' };

/** With Retry-After, these concern the address, not the message. `onWire`: the server may have processed the message. */
const pausingStatuses: Readonly<Record<number, { readonly onWire: boolean }>> = {
  429: { onWire: false },
  503: { onWire: true },
};

/** Longer values of Retry-After are cut to this. */
const longestPauseMs = 60 * 60 * 1_000;
/** Characters of the response body that go into a reason. */
const excerptLength = 200;

/** The outcome of a message, from the response to it. */
export interface Classified {
  readonly outcome: SendOutcome;
  /** How long to send nothing to the address. */
  readonly pauseMs?: number;
}

/**
 * Classifies a response.
 *
 * @param server its name in reasons
 * @param hidden texts that are removed from the reason, because a server may echo the request
 */
export function classifyAnswer(
  answer: HttpAnswer,
  { server, hidden, permanentStatuses }: ClassifyRules,
): Classified {
  const { status } = answer;
  const pausing = pausingStatuses[status];
  const pauseMs = pausing === undefined ? undefined : pauseOf(answer.retryAfter);
  if (pausing !== undefined && pauseMs !== undefined) {
    // Of the address, and shown to readers without the right to payloads, which a body may quote.
    const reason = `${server} answered ${status} (nothing is sent for ${Math.ceil(pauseMs / 1_000)} s, as it asks)`;
    return { outcome: { kind: 'hold', hold: { scope: 'topic', reason }, onWire: pausing.onWire }, pauseMs };
  }
  const kind = permanentStatuses.has(status)
    ? 'permanent'
    : (classesByStatus[status] ?? classesByDigit[Math.floor(status / 100)] ?? 'ambiguous');
  if (kind === 'acknowledged') return { outcome: { kind, partition: null, offset: null } };
  return { outcome: { kind, error: answerReason(answer, server, hidden) } };
}

/** Parameters of {@link classifyAnswer}. */
export interface ClassifyRules {
  readonly server: string;
  readonly hidden: readonly string[];
  readonly permanentStatuses: ReadonlySet<number>;
}

/**
 * Classifies a request without a response. Before the request was written, the message cannot be the cause: the address
 * is on hold, also where the guard refused it. Afterwards the message may have crashed the server, so it counts as an attempt.
 */
export function classifyFailure(error: Error, written: boolean, server: string): SendOutcome {
  const reason = failureReason(error, server);
  if (written) return { kind: 'ambiguous', error: reason };
  return { kind: 'hold', hold: { scope: 'topic', reason }, onWire: false };
}

/** Why a connection or a request failed, for display. */
export function failureReason(error: Error, server: string): string {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const said = reasonOf(error);
  if (code.endsWith('WRONG_VERSION_NUMBER')) return `TLS with ${server} failed: its port does not speak TLS`;
  if (isTlsFailure(code) || code === 'EPROTO')
    return `TLS with ${server} failed: ${withoutSourceLines(said)}`;
  if (said.includes('before secure TLS connection was established'))
    return `TLS with ${server} failed: it ended the handshake`;
  return said.includes(server) ? said : `${server}: ${said}`;
}

/** Removes the source locations that OpenSSL puts before and after the reason. */
function withoutSourceLines(said: string): string {
  return /:error:[0-9A-F]+:[^:]*:[^:]*:(?<reason>[^:]+):/.exec(said)?.groups?.['reason'] ?? said;
}

function answerReason(
  { status, location, excerpt }: HttpAnswer,
  server: string,
  hidden: readonly string[],
): string {
  const to = status >= 300 && status < 400 ? `: redirects${targetOf(location)} are not followed` : '';
  const text = hidden.reduce((left, secret) => left.replaceAll(secret, '…'), excerpt);
  const line = text.replaceAll(/[\p{Cc}\s]+/gu, ' ').trim();
  const short = line.length > excerptLength ? `${line.slice(0, excerptLength)}…` : line;
  return `${server} answered ${status}${to}${short === '' || to !== '' ? '' : `: ${short}`}`;
}

/** Host only, because path and query may contain secrets. */
function targetOf(location = ''): string {
  return URL.canParse(location) ? ` to ${new URL(location).host}` : '';
}

/** Parses Retry-After, seconds or a date; `undefined` for anything else. */
function pauseOf(retryAfter: string | undefined): number | undefined {
  if (retryAfter === undefined) return undefined;
  const text = retryAfter.trim();
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : httpTimeMs(text) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), longestPauseMs);
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** A date of HTTP in the form that servers write, as `Sun, 06 Nov 1994 08:49:37 GMT`; NaN: it is none. */
function httpTimeMs(text: string): number {
  const [, day, month = '', year, time] =
    /^[A-Z][a-z]{2}, (\d{2}) ([A-Z][a-z]{2}) (\d{4}) ([\d:]{8}) GMT$/.exec(text) ?? [];
  const number = String(months.indexOf(month) + 1).padStart(2, '0');
  return statedTime(`${year}-${number}-${day}T${time}Z`)?.getTime() ?? Number.NaN;
}
