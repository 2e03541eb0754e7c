/** A bug made by a rule, not by a person: one place of a file, and its replacement. */
export interface Mutant {
  readonly path: string;
  /** Name of the function of the database that it is in. */
  readonly sqlFunction?: string;
  /** Which rule made it, `drop await` for instance. */
  readonly operator: string;
  /** Begins at 1. */
  readonly line: number;
  /** Where its statement begins: what the tests are known to execute. */
  readonly statement: number;
  /** False for what is executed when the file is loaded. */
  readonly inFunction: boolean;
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
}

/** What a rule changes in a text. */
export interface Change {
  readonly operator: string;
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
}

/** The lines that differ, without their indentation. */
export interface Difference {
  readonly before: string;
  readonly after: string;
}

/** The whole lines around the place, before and after. */
export function differenceOf(text: string, { start, end, replacement }: Change): Difference {
  const from = text.lastIndexOf('\n', start - 1) + 1;
  const to = text.includes('\n', end) ? text.indexOf('\n', end) : text.length;
  const after = text.slice(from, start) + replacement + text.slice(end, to);
  return { before: text.slice(from, to).trim(), after: after.trim() };
}

export function lineOf(text: string, at: number): number {
  return text.slice(0, at).split('\n').length;
}
