import { type Duration, durationMs } from '../core/duration.ts';
import { OutboxError } from '../core/errors.ts';
import { writtenTime } from '../core/written-time.ts';

/** A date without a time means midnight in UTC, a time without a zone means local time. */
export function timeOfFlag(option: string, text: string): Date {
  const time = writtenTime(text);
  if (time !== undefined) return time.at;
  throw new OutboxError(
    'OUTBOX_OPTION_INVALID',
    `--${option} takes an ISO time such as 2026-11-27T08:14Z, and "${text}" is none.`,
    { details: { option } },
  );
}

/** An ISO time, or a duration before or after now, by the clock of this machine. */
export function nearTimeOfFlag(option: string, text: string, from: 'ago' | 'from now'): Date {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- durationMs answers undefined for other texts
  const ms = durationMs(text as Duration);
  const near = new Date(Date.now() + (ms ?? Number.NaN) * (from === 'ago' ? -1 : 1));
  if (!Number.isNaN(near.getTime())) return near;
  if (/^\d{4}-/.test(text)) return timeOfFlag(option, text);
  throw new OutboxError(
    'OUTBOX_OPTION_INVALID',
    `--${option} takes an ISO time such as 2026-11-27T08:14Z or a duration such as 2h, and "${text}" is neither.`,
    { details: { option } },
  );
}

/** Where a server of this process listens. */
export interface ListenAddress {
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
}

/** `port` or `host:port`; without a host all addresses of this machine. An IPv6 address stands in brackets. */
export function listenAddressOfFlag(option: string, text: string): ListenAddress {
  const [, six, host, port] = /^(?:(?:\[([^\]]+)\]|([^:[\]]+)):)?(\d{1,5})$/.exec(text) ?? [];
  if (port !== undefined && Number(port) <= 65_535)
    return { host: six ?? host ?? '0.0.0.0', port: Number(port) };
  throw new OutboxError(
    'OUTBOX_OPTION_INVALID',
    `--${option} takes a port or host:port, such as 127.0.0.1:9464, and "${text}" is none.`,
    { details: { option } },
  );
}

/** The duration of a flag, in milliseconds. */
export function durationOfFlag(option: string, text: string): number {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- durationMs answers undefined for other texts
  const ms = durationMs(text as Duration);
  if (ms !== undefined) return ms;
  throw new OutboxError(
    'OUTBOX_OPTION_INVALID',
    `--${option} takes a duration such as 15m, and "${text}" is none.`,
    { details: { option } },
  );
}

/** The whole number of a flag or an argument, in digits only. */
export function wholeOfFlag(option: string, text: string): number {
  const number = Number(text);
  if (/^\d{1,15}$/.test(text)) return number;
  throw new OutboxError(
    'OUTBOX_OPTION_INVALID',
    `--${option} takes a whole number such as 50, and "${text}" is none.`,
    { details: { option } },
  );
}
