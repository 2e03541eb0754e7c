import type { Figures } from '../store/figures/figures.ts';
import type { Unit } from './units.ts';

/** One figure of a rule. */
export interface Measured {
  /** What it is about; empty: the whole installation. */
  readonly subject: string;
  readonly figure: number;
  /** Ends the sentence about it. */
  readonly because?: string;
}

/** When relays send an alert. */
export interface AlertRule {
  /** What its threshold is compared with, as the document says it. */
  readonly measures: string;
  readonly unit: Unit;
  /** In milliseconds, messages, or a share from 0 to 1. */
  readonly normal: number;
  /** It fires below its threshold. @defaultValue false: above */
  readonly below?: boolean;
  /** Its figure is how long something has lasted. @defaultValue false */
  readonly lasts?: boolean;
  readonly measure: (figures: Figures) => readonly Measured[];
  /** A sentence about a figure, for people. */
  readonly says: (figure: string, subject: string) => string;
  /** The command to run. */
  readonly next: (subject: string) => string;
}
