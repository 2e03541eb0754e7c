import { reasonOf } from '../../../core/reason.ts';

/**
 * Who is to blame that a message was not encoded, so that nothing was sent.
 *
 * - `codec`: it encodes nothing now, such as one whose server of keys is away
 * - `message`: it encodes others
 * - `refused`: the message fails at every try
 */
export type EncodingFault = 'codec' | 'message' | 'refused';

/** The data converter of the settings has encoded no arguments. */
export class EncodingFailure extends Error {
  override readonly name = 'EncodingFailure';
  readonly fault: EncodingFault;

  constructor(cause: unknown, fault: EncodingFault) {
    super(`the data converter failed: ${reasonOf(cause)}`, { cause });
    this.fault = fault;
  }
}
