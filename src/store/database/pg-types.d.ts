/** What pg-types registers first of all, which `setTypeParser` replaces. */
declare module 'pg-types/lib/textParsers.js' {
  /** Names the parser of each type that is not left as text, by the OID of the type. */
  export function init(register: (type: number, parser: (text: string) => unknown) => void): void;
}
