/**
 * A name as a word of a command that people copy into a shell: names of consumer groups and messages may come from anybody. Control
 * characters are left out, so that pasting does not enter them.
 */
export function shellWord(name: string): string {
  if (/^[\w@:,./-]+$/.test(name)) return name;
  return `'${name.replaceAll(/\p{Cc}/gu, '?').replaceAll("'", `'\\''`)}'`;
}
