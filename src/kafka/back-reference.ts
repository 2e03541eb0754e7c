/** A call for a copy costs more than a loop over fewer bytes than these. */
const worthACall = 48;

/**
 * Writes again what is `distance` bytes before `at`, as LZ4 and Snappy say it; where the two overlap, what was just
 * written is repeated.
 *
 * @returns where the next byte goes
 * @throws RangeError when that is not in the buffer
 */
export function repeatBytes(bytes: Buffer, at: number, distance: number, length: number): number {
  const end = at + length;
  if (distance === 0 || distance > at || end > bytes.length)
    throw new RangeError('A reference leads out of the batch.');
  if (length >= worthACall && distance >= length) bytes.copyWithin(at, at - distance, at - distance + length);
  else for (let to = at; to < end; to += 1) bytes[to] = bytes[to - distance] ?? 0;
  return end;
}

/**
 * Copies bytes that are packed as they are.
 *
 * @returns where the next byte goes
 * @throws RangeError when there are fewer, or no room for them
 */
export function copyBytes(packed: Buffer, from: number, length: number, bytes: Buffer, at: number): number {
  if (from + length > packed.length || at + length > bytes.length)
    throw new RangeError('The batch ends too early.');
  if (length >= worthACall) packed.copy(bytes, at, from, from + length);
  else for (let n = 0; n < length; n += 1) bytes[at + n] = packed[from + n] ?? 0;
  return at + length;
}
