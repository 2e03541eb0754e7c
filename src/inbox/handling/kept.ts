import { incomingMessage } from '../../brokers/incoming-message.ts';
import type { IncomingMessage } from '../../brokers/source.ts';
import { namedReasonOf } from '../../core/reason.ts';
import type { KeptMessage } from '../../store/inbox/park.ts';
import type { BegunTry } from '../../store/inbox/tries.ts';
import { readWire, writeWire } from '../../store/inbox/wire.ts';
import { firstTryOf, noteFirstTry } from '../../telemetry/first-tries.ts';
import { storableTime } from '../reading/storable-time.ts';
import type { RefusalReason } from '../reading/unreadable.ts';
import { withoutVerdict } from '../verdict.ts';
import type { Arrived } from './arrived.ts';
import { faultOf } from './infrastructure-faults.ts';

/** Why a message is kept. */
export interface Keeping {
  /** `failed`: no try is left, or retrying cannot help. */
  readonly state: 'parked' | 'failed';
  /**
   * `behind`: only because its key is parked. `error`: its tries failed. `permanent`: its handler threw `permanent(error)`.
   * `killed`: it ended its consumer. Otherwise why it cannot be handled.
   */
  readonly cause: 'behind' | 'error' | 'permanent' | 'killed' | RefusalReason;
  /** The error of the last try. */
  readonly error: unknown;
  /** Is kept instead of the text of the error. */
  readonly text?: string | undefined;
}

/** A message as the database keeps it. */
export function keptOf<Tx>(arrived: Arrived<Tx>, keeping: Keeping, blockKey: boolean): KeptMessage {
  const { incoming, id, topic, key } = arrived;
  const { address, partition, offset, body, timestamp } = incoming;
  return {
    id,
    topic,
    key,
    address,
    partition,
    offset,
    wire: writeWire({ key: incoming.key, headers: incoming.headers, firstTry: firstTryOf(incoming) }),
    body,
    sentAt: storableTime(timestamp),
    state: keeping.state,
    blocksKey: keeping.state === 'failed' && blockKey && key !== null,
    attempts: keeping.cause === 'behind' || faultOf(keeping.error) !== undefined ? 0 : 1,
    reason: keeping.cause === 'behind' ? null : keeping.cause,
    error: keeping.cause === 'behind' ? null : (keeping.text ?? errorText(keeping.error)),
  };
}

/** The message as it arrived. */
export function arrivedAgain({ address, partition, offset, wire, body, sentAt }: BegunTry): IncomingMessage {
  const { key, headers, firstTry } = readWire(wire);
  const incoming = incomingMessage({ address, partition, offset, key, headers, body, timestamp: sentAt });
  noteFirstTry(incoming, firstTry);
  return incoming;
}

const maxErrorCharacters = 2_000;

/** The text of an error for operators; a stack would fill the row. */
export function errorText(judged: unknown): string {
  return namedReasonOf(withoutVerdict(judged)).slice(0, maxErrorCharacters);
}
