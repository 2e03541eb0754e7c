import type { OutboxError } from '../errors.ts';
import { toldValue } from './told-value.ts';

/** What is wrong with one option. */
export interface Problem {
  /** Path of the option, such as `consumers.sessionTimeout`; empty for the options as a whole. */
  readonly path: string;
  /** The end of a sentence about it, such as “must be true or false”. */
  readonly what: string;
  /** Given for an option that does not exist: what may be used instead, such as “use one of a, b”. */
  readonly instead?: string;
  /** Its value, where an error may repeat it. */
  readonly told?: ReturnType<typeof toldValue>;
}

/** Makes the error for problems, of which there is at least one. */
export type Refuse = (problems: readonly Problem[]) => OutboxError;

/** An option while it is read. */
export interface Option {
  readonly path: string;
  /** For values that are read later: those that are read now throw a {@link Misfit}. */
  readonly refuse: Refuse;
}

/** A schema of JSON Schema. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * Reads the value of an option: checks it, fills in its default, and converts it to what the settings hold.
 *
 * This is no schema of zod: an error for the value of a function, which is read later, needs the option's path, which zod
 * does not have; every reader knows how to say what it wants; no error may repeat a secret; and loading zod would cost every
 * sender 40 ms and 15 MB.
 */
export interface Reader<Value> {
  /** As in “must be a duration of 100 ms to 2 minutes”. */
  readonly wanted: string;
  /** @throws Misfit */
  readonly read: (given: unknown, option: Option) => Value;
  /** What JSON Schema can say of the values that it reads; missing: nothing, so that a document allows any. */
  readonly schema?: JsonSchema | undefined;
  /** Where only texts can be given, as in a query: the value that a text stands for. @defaultValue the text itself */
  readonly ofText?: ((text: string) => unknown) | undefined;
}

/** What a reader returns. */
export type Read<One extends Reader<unknown>> = ReturnType<One['read']>;

/** Thrown by readers. Whoever began to read makes an OutboxError of it. */
export class Misfit extends Error {
  override readonly name = 'Misfit';
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(problems.map(({ path, what }) => `${path} ${what}`).join('; '));
    this.problems = problems;
  }
}

/** @returns what to throw for a value that `what` says something about, such as “must be true or false” */
export function misfit({ path }: Option, what: string, given?: unknown): Misfit {
  return new Misfit([{ path, what, told: toldValue(given) }]);
}

/** @throws what `refuse` makes of the problems with which `work` fails */
export function judged<Value>(refuse: Refuse, work: () => Value): Value {
  try {
    return work();
  } catch (error) {
    if (error instanceof Misfit) throw refuse(error.problems);
    throw error;
  }
}
