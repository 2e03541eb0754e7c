/** Lengths are written as zigzag varints: seven bits a byte, one bit lost to the sign. */
export function varintSize(value: number): number {
  if (value < 64) return 1;
  if (value < 8_192) return 2;
  if (value < 1_048_576) return 3;
  return value < 134_217_728 ? 4 : 5;
}

/** The size of a text of this many bytes with its length before it. */
export function textSize(bytes: number): number {
  return varintSize(bytes) + bytes;
}
