import type { Figures } from '../store/figures/figures.ts';
import type { Label, Labels } from './labels.ts';
import type { RunbookEntry } from './runbook-entry.ts';
import type { Unit } from './units.ts';

/** One value of a figure. */
export interface Measured {
  readonly of: Labels;
  /** In the unit of the figure. */
  readonly figure: number;
  /** Ends the sentence about it. */
  readonly because?: string;
}

/** Something of an installation that is read at intervals, by one relay for all. */
export interface Figure {
  /** Begins and ends within a sentence. */
  readonly meaning: string;
  readonly unit: Unit;
  /** The labels of its values; several sets, if it is of different things. */
  readonly of: readonly (readonly Label[])[];
  readonly measure: (figures: Figures) => readonly Measured[];
  /** The least value is the worst. @defaultValue false: the greatest */
  readonly below?: boolean;
}

/** A figure that somebody is told of when it is beyond a threshold. */
export interface AlertRule extends Figure {
  /** The default, in the unit of the figure. It fires above it, or below it if the least value is the worst. */
  readonly threshold: number;
  /** The figure is how long something has lasted. @defaultValue false */
  readonly lasts?: boolean;
  /** A sentence about a figure, without capital and full stop. */
  readonly says: (figure: string, subject: string) => string;
  /** The command to run. */
  readonly next: (of: Labels) => string;
  readonly runbook: RunbookEntry;
}
