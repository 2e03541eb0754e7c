import { timeInWords } from '../core/time-in-words.ts';

/** A minute, in milliseconds. */
export const minute = 60_000;

/** In what a figure is counted: milliseconds, a share from 0 to 1, or things. */
export type Unit = 'time' | 'share' | 'consumers' | 'keys' | 'messages' | 'relays' | 'workflows';

/** A figure as people read it. */
export function inUnit(unit: Unit, figure: number): string {
  if (unit === 'time') return timeInWords(figure);
  if (unit === 'share') return `${Number((Math.floor(figure * 1_000) / 10).toFixed(1))} %`;
  return `${figure.toLocaleString('en')} ${figure === 1 ? oneOf(unit) : unit}`;
}

/** As metrics have it: seconds instead of milliseconds. */
export function inMetric(unit: Unit, figure: number): number {
  return unit === 'time' ? figure / 1_000 : figure;
}

/** The name of a unit by UCUM. */
export function metricUnit(unit: Unit): string {
  if (unit === 'time') return 's';
  return unit === 'share' ? '1' : `{${oneOf(unit)}}`;
}

const oneOf = (things: string): string => things.slice(0, -1);
