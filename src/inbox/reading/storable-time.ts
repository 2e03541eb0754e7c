/** A sender may write any timestamp, even microseconds; if it is no time that can be stored, that of arrival is used. */
export function storableTime(time: Date): Date {
  const year = time.getUTCFullYear();
  return year >= 1970 && year <= 9999 ? time : new Date();
}
