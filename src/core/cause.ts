/** Lines of code with their numbers, which the actual error may follow without an empty line. */
const codeFrame = /^(?:\s*(?:→\s*)?\d+(?:\s.*)?(?:\n|$))+/;

/**
 * The useful part of an error's text. Prisma's begins with the call, its location and lines of code, and ends with the actual
 * error; others append a stack.
 */
export function causeIn(text: string): string {
  const paragraphs = text
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.trim())
    .filter((paragraph) => paragraph !== '');
  const ofPrisma = isOfPrisma(text);
  const said = (ofPrisma ? paragraphs.at(-1) : paragraphs[0]) ?? '';
  const actual = ofPrisma ? said.replace(codeFrame, '') : said;
  const lines = actual.split('\n').filter((line) => !/^\s*at .*[:(]/.test(line));
  const name = ofPrisma ? /^(\w+Error): /.exec(text)?.[0] : undefined;
  return `${name ?? ''}${lines.map((line) => line.trim()).join(' ')}`;
}

/** The text with those of its causes, where {@link causeIn} keeps them. */
export function withCauses(text: string, causes: readonly string[]): string {
  if (causes.length === 0) return text;
  const said = text.trim();
  const end = isOfPrisma(said) ? said.length : /\r?\n|$/.exec(said)?.index;
  const line = said.slice(0, end).replace(/[.:]?\s*$/, '');
  return [line, ...causes].filter((part) => part !== '').join(': ') + said.slice(end);
}

function isOfPrisma(text: string): boolean {
  return /Invalid `[^`]*` invocation/.test(text);
}
