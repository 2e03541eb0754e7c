/** At the beginning of a text: the class of an error, a code of this library, or the status of an HTTP answer. */
const classes = [/^(?:[A-Za-z_$][\w$]{0,60})?(?:Error|Exception)(?=:|$)/, /^OUTBOX_[A-Z_]+\b/];
const httpStatus = /^\S+ (answered \d{3})\b/;

/**
 * What readers without the right to payloads see of an error. Its text may quote a payload, or what a handler has made of one,
 * so only its class, code or HTTP status is left.
 */
export function untoldError(text: string): string {
  const known = classes.map((pattern) => pattern.exec(text)?.[0]).find((found) => found !== undefined);
  const told = known ?? httpStatus.exec(text)?.[1];
  if (told === undefined) return '…';
  return told === text ? text : `${told}: …`;
}
