import { timeInWords } from '../core/time-in-words.ts';

/** A minute, in milliseconds. */
export const minute = 60_000;

/** In what the figures of a rule are counted: milliseconds, a share from 0 to 1, or things. */
export type Unit = 'time' | 'share' | 'messages' | 'workflows';

/** A figure as people read it. */
export function inUnit(unit: Unit, figure: number): string {
  if (unit === 'time') return timeInWords(figure);
  if (unit === 'share') return `${Number((Math.floor(figure * 1_000) / 10).toFixed(1))} %`;
  const one = unit.slice(0, -1);
  return `${figure.toLocaleString('en')} ${figure === 1 ? one : unit}`;
}
