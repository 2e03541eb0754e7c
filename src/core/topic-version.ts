import type { OutboxError } from './errors.ts';

/** The header that tells the version of a payload; absent for version 1. The sender writes it, nobody else may. */
export const versionHeader = 'outbox-version';

/** Makes of a payload of one version what it would be in the next. It gets parsed JSON, and must not wait for anything. */
export type Upcast = (old: unknown) => unknown;

/** How the payload of a topic has changed over time. */
export interface VersionOptions {
  /** Version of the payload that the schema describes, 1 to 1,000,000. @defaultValue 1 */
  readonly version?: number;
  /**
   * `upcast[n]` makes of a payload of version n one of version n + 1; consumers apply them in turn, and the schema judges
   * the last. A version from which they do not lead to the current one cannot be read. @defaultValue none
   */
  readonly upcast?: Readonly<Record<number, Upcast>>;
}

/** The version of a topic with its defaults filled in. */
export interface VersionRules {
  /** Of the payload that the schema describes. */
  readonly version: number;
  /** By the version from which they lead to the next. */
  readonly upcast: ReadonlyMap<number, Upcast>;
}

const highestVersion = 1_000_000;
const versionText = /^[1-9][0-9]{0,6}$/;

/** @param invalid makes the error that names an option and what is wrong with it */
export function resolveVersion(
  { version = 1, upcast = {} }: VersionOptions,
  invalid: (option: string, why: string) => OutboxError,
): VersionRules {
  if (!Number.isInteger(version) || version < 1 || version > highestVersion)
    throw invalid('version', 'is not an integer from 1 to 1,000,000');
  if (typeof upcast !== 'object' || upcast === null) throw invalid('upcast', 'is not an object of functions');
  const upcasters = Object.entries(upcast).map(([from, step]): readonly [number, Upcast] => {
    const option = `upcast[${from}]`;
    if (!versionText.test(from) || Number(from) >= version)
      throw invalid(option, `is not for a version below ${version}`);
    if (typeof step !== 'function') throw invalid(option, 'is not a function');
    return [Number(from), step];
  });
  return { version, upcast: new Map(upcasters) };
}

/**
 * What a message says of its version: 1 where it says nothing, `undefined` where that is no version.
 *
 * @param text its header {@link versionHeader}
 */
export function versionOf(text: string | undefined): number | undefined {
  if (text === undefined) return 1;
  const version = versionText.test(text) ? Number(text) : undefined;
  return version !== undefined && version <= highestVersion ? version : undefined;
}

/** The oldest version from which the upcasters lead to the current one without a gap. */
export function oldestVersion({ version, upcast }: VersionRules): number {
  let oldest = version;
  while (upcast.has(oldest - 1)) oldest -= 1;
  return oldest;
}

/** An upcaster could not do its work. `cause` is what it threw, or `undefined` when it answered a promise. */
export class UpcastFailure extends Error {
  override readonly name = 'UpcastFailure';
  /** The version from which it leads to the next. */
  readonly from: number;
  /** The payload that it was given. */
  readonly payload: unknown;

  constructor(from: number, payload: unknown, message: string, cause?: unknown) {
    super(message, { cause });
    this.from = from;
    this.payload = payload;
  }
}

/**
 * Makes of a payload of an older version one of the current version.
 *
 * @param from a version from {@link oldestVersion} to the current one
 * @throws UpcastFailure
 */
export function upcastPayload({ version, upcast }: VersionRules, from: number, payload: unknown): unknown {
  let current = payload;
  for (let step = from; step < version; step += 1) current = upcastOnce(upcast.get(step), step, current);
  return current;
}

function upcastOnce(step: Upcast | undefined, from: number, payload: unknown): unknown {
  if (step === undefined) throw new UpcastFailure(from, payload, 'there is none');
  let answer: unknown;
  try {
    answer = step(payload);
  } catch (cause) {
    throw new UpcastFailure(from, payload, cause instanceof Error ? cause.message : String(cause), cause);
  }
  // A schema that takes anything would let it through to the handler.
  if (answer instanceof Promise) {
    answer.catch(() => undefined);
    throw new UpcastFailure(from, payload, 'it answered a promise');
  }
  return answer;
}
