import { recordOf, type Table } from './options/collections.ts';
import type { OptionTable } from './options/option-table.ts';
import { func, optional, whole } from './options/values.ts';
import { reasonOf } from './reason.ts';

/** The header with the version of a payload; absent for version 1. Only the library writes it. */
export const versionHeader = 'outbox-version';

/** Converts a payload of one version to the next one. It gets parsed JSON, and must be synchronous. */
export type Upcast = (old: unknown) => unknown;

/** How the payload of a topic has changed over time. */
export interface VersionOptions {
  /** Version of the payload that the schema describes, 1 to 1,000,000. @defaultValue 1 */
  readonly version?: number;
  /**
   * `upcast[n]` converts a payload of version n to version n + 1; consumers apply them in turn, and the schema validates the
   * result. A version from which they do not lead to the current one cannot be read. @defaultValue none
   */
  readonly upcast?: Readonly<Record<number, Upcast>>;
}

/** The version of a topic with its defaults filled in. */
export interface VersionRules {
  /** Version of the payload that the schema describes. */
  readonly version: number;
  /** Upcasters, by the version that they convert from. */
  readonly upcast: ReadonlyMap<number, Upcast>;
}

const highestVersion = 1_000_000;
const versionText = /^[1-9][0-9]{0,6}$/;

/** The table of {@link VersionOptions}. */
export const versionOptions = {
  version: whole(1, highestVersion, 1),
  upcast: optional(recordOf(func<Upcast>(), 'an object of functions')),
} satisfies Table<VersionOptions>;

/** @throws what `invalid` makes of an upcaster that is not for a version below the current one */
export function resolveVersion(
  version: number,
  upcast: Readonly<Record<string, Upcast>> | undefined,
  invalid: OptionTable<unknown>['invalid'],
): VersionRules {
  const steps = Object.entries(upcast ?? {});
  const [wrong] = steps.find(([from]) => !versionText.test(from) || Number(from) >= version) ?? [];
  if (wrong !== undefined) throw invalid(`upcast.${wrong}`, `must be for a version below ${version}`);
  return { version, upcast: new Map(steps.map(([from, step]) => [Number(from), step])) };
}

/**
 * The version of a message: 1 without a header, `undefined` if the header is not a version.
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

/** The failure of an upcaster. `cause` is what it threw, or `undefined` if it returned a promise. */
export class UpcastFailure extends Error {
  override readonly name = 'UpcastFailure';
  /** The version that it converts from. */
  readonly from: number;
  /** Its argument. */
  readonly payload: unknown;

  constructor(from: number, payload: unknown, message: string, cause?: unknown) {
    super(message, { cause });
    this.from = from;
    this.payload = payload;
  }
}

/**
 * Converts a payload of an older version to the current one.
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
  if (step === undefined) throw new UpcastFailure(from, payload, 'it does not exist');
  let answer: unknown;
  try {
    answer = step(payload);
  } catch (cause) {
    throw new UpcastFailure(from, payload, reasonOf(cause), cause);
  }
  // A schema that accepts anything would pass the promise to the handler.
  if (answer instanceof Promise) {
    answer.catch(() => undefined);
    throw new UpcastFailure(from, payload, 'it returned a promise');
  }
  return answer;
}
