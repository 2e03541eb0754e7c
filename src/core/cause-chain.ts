import { OutboxError } from './errors.ts';

const most = 5;
const longest = 500;

/** What gRPC puts before the text of a server, which clients repeat without it. */
const grpcStatus = /^\d{1,2} [A-Z_]+: /;

/**
 * The texts of an error's causes, outermost first, without what has been said: clients repeat the text of the error that they
 * wrap. An OutboxError says its cause itself.
 *
 * @param said the text of the error
 * @param seen errors whose text is known
 * @param textOf of a cause; adds it to `seen`, and never throws
 */
export function causesOf(
  thrown: unknown,
  said: string,
  seen: ReadonlySet<unknown>,
  textOf: (cause: unknown) => string,
): readonly string[] {
  const texts: string[] = [];
  let [all, current] = [said, causeOf(thrown)];
  for (let n = 0; n < most && current !== undefined && !seen.has(current); n += 1) {
    const text = withoutStart(shortened(textOf(current)), texts.at(-1) ?? said);
    const own = text.replace(grpcStatus, '');
    if (own !== '' && !all.includes(own)) texts.push(text);
    all = `${all}\n${text}`;
    current = causeOf(current);
  }
  return texts;
}

/** `undefined` without one that has a text of its own: drivers keep plain objects in it. */
function causeOf(thrown: unknown): unknown {
  try {
    if (!(thrown instanceof Error) || thrown instanceof OutboxError) return undefined;
    const { cause } = thrown;
    return cause instanceof Error || (typeof cause === 'string' && cause !== '') ? cause : undefined;
  } catch {
    return undefined;
  }
}

/** Without the text of the error that wraps this one. */
function withoutStart(text: string, wrapping: string): string {
  const own = text.replace(/\.$/, '');
  const repeated = wrapping.trim().replace(/\.$/, '');
  return own.startsWith(`${repeated}: `) ? own.slice(repeated.length + 2) : own;
}

/** Cut between words: half a URL would escape those who look for it to hide it. */
function shortened(text: string): string {
  const line = text.trim().replaceAll(/\s*\n\s*/g, ' ');
  return line.length <= longest ? line : `${line.slice(0, longest + 1).replace(/\S*$/, '')}…`;
}
