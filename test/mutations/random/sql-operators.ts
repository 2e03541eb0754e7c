import type { Change } from './mutant.ts';

/** A word, number or sign of SQL, outside of comments and quoted texts. */
interface Token {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

const token =
  /--[^\n]*|'(?:[^']|'')*'|"[^"]*"|\$\w+|[a-z_][\w.]*|\d+(?:\.\d+)?|->>?|#>>?|@>|<@|!?~\*?|<>|<=|>=|:=|::|[-+*/<>=(),;]/gi;

const shifted: ReadonlyMap<string, string> = new Map([
  ['<', '<='],
  ['<=', '<'],
  ['>', '>='],
  ['>=', '>'],
  ['<>', '='],
  ['and', 'or'],
  ['or', 'and'],
  ['true', 'false'],
  ['false', 'true'],
  ['min', 'max'],
  ['max', 'min'],
  ['least', 'greatest'],
  ['greatest', 'least'],
  ['exists', 'not exists'],
  ['desc', 'asc'],
  ['distinct', ''],
]);

type EndsAt = (tokens: readonly Token[], n: number) => number | undefined;
const behindNext: EndsAt = (tokens, n) => tokens[n + 1]?.end;

/** Changes of several words: a word, what follows it, and where that ends. */
const phrases: readonly {
  readonly word: string;
  readonly followedBy: RegExp;
  readonly operator: string;
  readonly replacement: string;
  readonly endsAt: EndsAt;
}[] = [
  phrase('not', /^(?!null$|materialized$)/, 'drop not', '', (tokens, n) => tokens[n]?.end),
  phrase('is', /^null$/, 'is null to is not null', 'is not null', behindNext),
  phrase('is', /^not$/, 'drop not', 'is', behindNext),
  phrase('for', /^(?:update|key|share|no)$/, 'drop for update', '', (tokens, n) => clauseEnd(tokens, n + 1)),
  phrase('skip', /^locked$/, 'drop skip locked', '', behindNext),
  phrase('limit', /^/, 'drop limit', '', clauseEnd),
  phrase('order', /^by$/, 'drop order by', '', (tokens, n) => clauseEnd(tokens, n + 1)),
  phrase('perform', /^/, 'drop perform', 'null', statementEnd),
];

function phrase(word: string, followedBy: RegExp, operator: string, replacement: string, endsAt: EndsAt) {
  return { word, followedBy, operator, replacement, endsAt };
}

/** Words after which an `=` compares. After others it assigns. */
const comparing = /^(?:where|and|or|on|when|if|elsif|having|not)$/;
const assigning = /^(?:set|values|into|declare|default|end)$/;

/** True for a text that a database executes. */
export function isSql(text: string): boolean {
  return /\b(?:select|update|insert into|delete from|with|where|from|order by)\s/.test(text);
}

/** Every change that a rule makes of a text of SQL. What a `raise` says is left as it is. */
export function sqlChanges(text: string): readonly Change[] {
  const tokens: Token[] = [...text.matchAll(token)].map(({ 0: found, index }) => ({
    text: found.toLowerCase(),
    start: index,
    end: index + found.length,
  }));
  return tokens.flatMap((one, n) => (isSaid(tokens, n) ? [] : changesAt(tokens, n, one)));
}

function changesAt(tokens: readonly Token[], n: number, one: Token): readonly Change[] {
  const next = tokens[n + 1]?.text;
  const found = phrases.find(({ word, followedBy }) => word === one.text && followedBy.test(next ?? ''));
  if (found !== undefined) {
    const end = found.endsAt(tokens, n) ?? one.end;
    return [{ operator: `sql: ${found.operator}`, start: one.start, end, replacement: found.replacement }];
  }
  const other = otherWord(tokens, n);
  if (other === undefined) return [];
  const rule = /^\d/.test(one.text) ? 'other number' : `${one.text} to ${other === '' ? 'nothing' : other}`;
  return [{ operator: `sql: ${rule}`, start: one.start, end: one.end, replacement: other }];
}

/** What a word, number or sign is replaced by, if the words around it allow that. */
function otherWord(tokens: readonly Token[], n: number): string | undefined {
  const text = tokens[n]?.text ?? '';
  const before = tokens[n - 1]?.text;
  if (/^\d+$/.test(text)) return before === '::' ? undefined : String(Number(text) + 1);
  if (text === '=') return compares(tokens, n) ? '<>' : undefined;
  if (text === 'and' && isBetween(tokens, n)) return undefined;
  if (text === 'exists' && before === 'not') return undefined;
  return shifted.get(text);
}

function statementEnd(tokens: readonly Token[], n: number): number {
  return tokens.slice(n).find(({ text }) => text === ';')?.start ?? tokens[n]?.end ?? 0;
}

/** Where the clause that begins at a token ends: at the parenthesis, statement or clause behind it. */
function clauseEnd(tokens: readonly Token[], n: number): number {
  let depth = 0;
  let last = n;
  for (let at = n + 1; at < tokens.length; at += 1) {
    const text = tokens[at]?.text ?? '';
    if (text === '(') depth += 1;
    if (text === ')') depth -= 1;
    if (depth < 0 || (depth === 0 && /^(?:;|limit|offset|for|union|returning|loop|then)$/.test(text))) break;
    last = at;
  }
  return tokens[last]?.end ?? 0;
}

function compares(tokens: readonly Token[], n: number): boolean {
  const before = tokens.slice(0, n).findLast(({ text }) => comparing.test(text) || assigning.test(text));
  return before !== undefined && comparing.test(before.text);
}

function isBetween(tokens: readonly Token[], n: number): boolean {
  return tokens.slice(Math.max(0, n - 6), n).some(({ text }) => text === 'between');
}

/** Within a `raise`, whose texts are for people. */
function isSaid(tokens: readonly Token[], n: number): boolean {
  const last = tokens.slice(0, n + 1).findLast(({ text }) => text === ';' || text === 'raise');
  return last?.text === 'raise';
}
