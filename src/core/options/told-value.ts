/** A number or a duration, perhaps with a unit that there is not. */
const measure = /^[-+]?\d[\d.,_]{0,9} ?[a-z]{0,12}$/i;

/**
 * What an error may repeat of the value of an option: numbers, durations, true and false. Any other text may be, or contain, a
 * password: an address often does, and a variable of the environment may be given to the wrong option.
 *
 * @returns `details` to add
 */
export function toldValue(value: unknown): { readonly value?: number | boolean | string } {
  if (typeof value === 'number' || typeof value === 'boolean') return { value };
  return typeof value === 'string' && measure.test(value) ? { value } : {};
}
