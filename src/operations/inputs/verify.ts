import { optional, value } from '../../core/options/values.ts';
import { optionTexts } from '../descriptions.ts';
import { givenTime, meaning, span, spanForm, timeForm } from './values.ts';

const share = value(
  'a number from 0 to 1',
  (given) => (typeof given === 'number' && given >= 0 && given <= 1 ? given : undefined),
  undefined,
  { schema: { type: 'number', minimum: 0, maximum: 1 } },
);

/** The period and the tolerances of a verification. */
export const verification = {
  since: meaning(optional(givenTime), optionTexts.since, timeForm),
  grace: meaning(optional(span), optionTexts.grace, spanForm),
  tolerance: meaning(optional(span), optionTexts.tolerance, spanForm),
  maxTransaction: meaning(optional(span), optionTexts.maxTransaction, spanForm),
  maxDuplicates: meaning(optional(share), optionTexts.maxDuplicates),
};
