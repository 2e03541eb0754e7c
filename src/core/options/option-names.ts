import { isObject } from './collections.ts';
import { tlsOptionNames } from './tls.ts';

/** The first key of `given` that is not an option; a misspelt one would have no effect. */
export function unknownOption(given: object, known: readonly string[]): string | undefined {
  return Object.keys(given).find((option) => !known.includes(option));
}

/** Makes the error for an option that is not what is wanted. */
export type RefuseOne = (option: string, what: string) => Error;

/** Checks options of `tls.connect`; what `refuse` makes of a bad one is thrown. @param booleans `true` and `false` will do */
export function assertTlsOptions(option: string, tls: unknown, refuse: RefuseOne, booleans = true): void {
  if (booleans && typeof tls === 'boolean') return;
  if (!isObject(tls))
    throw refuse(option, `must be ${booleans ? 'true, false or ' : ''}options of tls.connect`);
  const unknown = unknownOption(tls, tlsOptionNames);
  if (unknown !== undefined) throw refuse(`${option}.${unknown}`, 'is not an option of tls.connect');
}
