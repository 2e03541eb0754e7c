import type { Duration } from 'google-protobuf/google/protobuf/duration_pb.js';
import { clientLibrary } from './client-library.ts';

/** Milliseconds as a duration of the protocol. */
export function protocolDuration(ms: number): Duration {
  const whole = Math.max(0, Math.round(ms));
  const { Duration } = clientLibrary().durations;
  return new Duration().setSeconds(Math.floor(whole / 1_000)).setNanos((whole % 1_000) * 1_000_000);
}
