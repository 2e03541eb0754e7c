import type { Figures } from '../store/figures/figures.ts';
import type { Label, Labels } from './labels.ts';
import type { PrometheusCondition } from './prometheus-condition.ts';
import type { RunbookEntry } from './runbook-entry.ts';
import type { Unit } from './units.ts';

/** One value of a figure. */
export interface Measured {
  readonly of: Labels;
  /** In the unit of the figure. */
  readonly figure: number;
  /** How long it has lasted, where that was measured earlier than it is read. @defaultValue the figure, if that is a time */
  readonly lastsMs?: number;
  /** Ends the sentence about it. */
  readonly because?: string;
}

/** How a figure is exported. */
export interface FigureMetric {
  /** As OpenTelemetry names it. */
  readonly name: string;
  /** Fewer labels than the figure has: of several values the one nearest to the threshold, or beyond it, counts. @defaultValue all */
  readonly by?: readonly Label[];
  /** Where the metric is not the figure itself. */
  readonly meaning?: string;
  readonly read?: (figures: Figures) => readonly Measured[];
  /** True: 0 where a value is missing that there was before. @defaultValue false: only of groups that are gone */
  readonly ends?: boolean;
  /** When somebody should look, and what to do then. @defaultValue what the rule says */
  readonly watch?: { readonly when: string; readonly todo: string };
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
  readonly metric?: FigureMetric;
}

/** A figure that is exported. */
export interface ExportedFigure extends Figure {
  readonly metric: FigureMetric;
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
  readonly prometheus: PrometheusCondition;
  readonly runbook: RunbookEntry;
}
