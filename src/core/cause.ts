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
  const ofPrisma = /Invalid `[^`]*` invocation/.test(text);
  const said = (ofPrisma ? paragraphs.at(-1) : paragraphs[0]) ?? '';
  const actual = ofPrisma ? said.replace(codeFrame, '') : said;
  const lines = actual.split('\n').filter((line) => !/^\s*at .*[:(]/.test(line));
  const name = ofPrisma ? /^(\w+Error): /.exec(text)?.[0] : undefined;
  return `${name ?? ''}${lines.map((line) => line.trim()).join(' ')}`;
}
