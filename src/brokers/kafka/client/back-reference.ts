/** For fewer bytes than these a loop is cheaper than a copy call. */
const worthACall = 48;

/**
 * Copies the bytes that are `distance` bytes before `at`, a back reference of LZ4 and Snappy; if the two ranges overlap, the
 * bytes just written are repeated.
 *
 * @returns where the next byte goes
 * @throws RangeError if the reference is outside the buffer
 */
export function repeatBytes(bytes: Buffer, at: number, distance: number, length: number): number {
  const end = at + length;
  if (distance === 0 || distance > at || end > bytes.length)
    throw new RangeError('A reference points outside the batch.');
  if (length >= worthACall && distance >= length) bytes.copyWithin(at, at - distance, at - distance + length);
  else for (let to = at; to < end; to += 1) bytes[to] = bytes[to - distance] ?? 0;
  return end;
}

/**
 * Copies literal bytes.
 *
 * @returns where the next byte goes
 * @throws RangeError if there are fewer, or there is no room for them
 */
export function copyBytes(packed: Buffer, from: number, length: number, bytes: Buffer, at: number): number {
  if (from + length > packed.length || at + length > bytes.length)
    throw new RangeError('The batch ends too early.');
  if (length >= worthACall) packed.copy(bytes, at, from, from + length);
  else for (let n = 0; n < length; n += 1) bytes[at + n] = packed[from + n] ?? 0;
  return at + length;
}
