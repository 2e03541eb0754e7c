import { parseSync, Visitor } from 'oxc-parser';
import { type Change, lineOf, type Mutant } from './mutant.ts';
import { operators } from './typescript-operators.ts';

interface Span {
  readonly start: number;
  readonly end: number;
}

/** Properties whose text is for people. */
const said = /^(?:message|reason|said|hint|note|title|description|summary)$/;

/** What makes another number of a constant: `60 * 60_000` is one, too. */
const chosen = /^(?:other number$|[*] to |[/] to )/;

/**
 * All bugs that the rules make of a file; empty for one that does not parse. Numbers of named constants stay: how long a pause
 * is, or how large a page, is a choice, and another choice is no bug.
 */
export function typescriptMutants(path: string, text: string): readonly Mutant[] {
  const { program, errors } = parseSync(path, text);
  if (errors.length > 0) return [];
  const changes: Change[] = [];
  new Visitor(operators(text, (change) => changes.push(change))).visit(program);
  const { statements, bodies, unchanged } = regionsOf(program, text);
  const mutants: Mutant[] = [];
  for (const change of changes) {
    if (unchanged.some((span) => contains(span, change)) || isForPeople(text, change)) continue;
    const inFunction = bodies.some((body) => contains(body, change));
    const around = statements.findLast((statement) => contains(statement, change));
    const named = !inFunction && text.startsWith('const ', around?.start);
    if (named && chosen.test(change.operator)) continue;
    mutants.push({
      ...change,
      path,
      line: lineOf(text, change.start),
      statement: lineOf(text, around?.start ?? change.start),
      inFunction,
    });
  }
  return mutants;
}

/** Lines of the bodies of functions: what is executed by more than a load of the file. */
export function functionLines(path: string, text: string): ReadonlySet<number> {
  const { bodies } = regionsOf(parseSync(path, text).program, text);
  return new Set(
    bodies.flatMap(({ start, end }) => {
      const first = lineOf(text, start);
      return Array.from({ length: lineOf(text, end) - first + 1 }, (_, n) => first + n);
    }),
  );
}

/** Statements, outer ones first; bodies of functions; and what no rule may change. */
function regionsOf(program: ReturnType<typeof parseSync>['program'], text: string) {
  const statements: Span[] = [];
  const bodies: Span[] = [];
  const unchanged: Span[] = [];
  const statement = (span: Span): void => void statements.push(span);
  const fixed = (span: Span): void => void unchanged.push(span);
  new Visitor({
    ExpressionStatement: (node) => {
      statement(node);
      // Where tests of faults end a process: these are no samples' tests.
      if (text.startsWith('passCrashPoint(', node.start)) fixed(node);
    },
    VariableDeclaration: statement,
    ReturnStatement: statement,
    ThrowStatement: statement,
    ContinueStatement: statement,
    BreakStatement: statement,
    IfStatement: statement,
    WhileStatement: statement,
    ForStatement: statement,
    ForOfStatement: statement,
    SwitchStatement: statement,
    SwitchCase: statement,
    FunctionDeclaration: ({ body }) => void (body !== null && bodies.push(body)),
    FunctionExpression: ({ body }) => void (body !== null && bodies.push(body)),
    ArrowFunctionExpression: ({ body }) => void bodies.push(body),
    ImportDeclaration: fixed,
    ExportNamedDeclaration: (node) => void (node.source !== null && fixed(node)),
    TSTypeAnnotation: fixed,
    TSInterfaceDeclaration: fixed,
    TSTypeAliasDeclaration: fixed,
    TSTypeParameterInstantiation: fixed,
    TSTypeParameterDeclaration: fixed,
    TSAsExpression: ({ typeAnnotation }) => fixed(typeAnnotation),
    TSSatisfiesExpression: ({ typeAnnotation }) => fixed(typeAnnotation),
    // What an error says is no promise; that it is thrown is one.
    NewExpression: ({ callee, arguments: given }) => {
      if (text.slice(callee.start, callee.end).endsWith('Error')) for (const one of given) fixed(one);
    },
    Property: ({ key, value }) => {
      if (said.test(text.slice(key.start, key.end))) fixed(value);
      if (key.type === 'Literal') fixed(key);
    },
  }).visit(program);
  return { statements, bodies, unchanged };
}

function contains(outer: Span, inner: Span): boolean {
  return outer.start <= inner.start && inner.end <= outer.end;
}

/** A text of several words is read by people; names, states and keys have no spaces. */
function isForPeople(text: string, { operator, start, end }: Change): boolean {
  return operator === 'empty string' && /\s/.test(text.slice(start, end));
}
