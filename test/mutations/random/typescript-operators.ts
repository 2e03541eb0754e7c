import type { VisitorObject } from 'oxc-parser';
import type { Change } from './mutant.ts';
import { isSql, sqlChanges } from './sql-operators.ts';

const shifted: ReadonlyMap<string, string> = new Map([
  ['<', '<='],
  ['<=', '<'],
  ['>', '>='],
  ['>=', '>'],
  ['===', '!=='],
  ['!==', '==='],
  ['+', '-'],
  ['-', '+'],
  ['*', '/'],
  ['/', '*'],
  ['&&', '||'],
  ['||', '&&'],
  ['+=', '-='],
  ['-=', '+='],
  ['??=', '='],
  ['||=', '='],
]);

const renamed: ReadonlyMap<string, string> = new Map([
  ['some', 'every'],
  ['every', 'some'],
  ['min', 'max'],
  ['max', 'min'],
  ['all', 'race'],
  ['resolve', 'reject'],
]);

interface Span {
  readonly start: number;
  readonly end: number;
}

/** Calls `add` with every change that a rule makes of a node of the tree. Those of types and messages are for others to drop. */
export function operators(text: string, add: (change: Change) => void): VisitorObject {
  const change = (operator: string, { start, end }: Span, replacement: string): void =>
    add({ operator, start, end, replacement });
  const of = ({ start, end }: Span): string => text.slice(start, end);

  const swap = (operator: string, left: Span, right: Span): void => {
    const other = shifted.get(operator);
    const start = text.indexOf(operator, left.end);
    if (other === undefined || start === -1 || start >= right.start) return;
    change(`${operator} to ${other}`, { start, end: start + operator.length }, other);
  };
  const negate = (test: Span): void => change('negate a condition', test, `!(${of(test)})`);
  const drop = (statement: Span): void => change('drop a statement', statement, '{}');

  const returnEarly = (body: Span | null): void => {
    if (body === null || !/^\{\s*[^\s}]/.test(of(body))) return;
    change('return early', { start: body.start, end: body.start + 1 }, '{ return;');
  };

  return {
    BinaryExpression: ({ operator, left, right }) => swap(operator, left, right),
    AssignmentExpression: ({ operator, left, right }) => swap(operator, left, right),
    LogicalExpression: (node) => {
      if (node.operator !== '??') return swap(node.operator, node.left, node.right);
      change('?? to its left', node, of(node.left));
      change('?? to its right', node, of(node.right));
    },
    UnaryExpression: (node) => {
      if (node.operator === '!') change('drop !', node, of(node.argument));
    },
    IfStatement: ({ test }) => negate(test),
    ConditionalExpression: ({ test }) => negate(test),
    WhileStatement: ({ test }) => negate(test),
    AwaitExpression: (node) => change('drop await', node, of(node.argument)),
    ExpressionStatement: drop,
    ThrowStatement: drop,
    ContinueStatement: drop,
    BreakStatement: drop,
    ReturnStatement: (node) => {
      if (node.argument === null) drop(node);
    },
    FunctionDeclaration: ({ body }) => returnEarly(body),
    FunctionExpression: ({ body }) => returnEarly(body),
    ArrowFunctionExpression: ({ body }) => returnEarly(body),
    CallExpression: ({ arguments: given, callee }) => {
      const [first, second] = given;
      const matters = !/^Math\.(?:min|max)$/.test(of(callee));
      if (matters && first !== undefined && second !== undefined && of(first) !== of(second))
        change('swap arguments', { start: first.start, end: second.end }, swapped(first, second));
      if (callee.type !== 'MemberExpression' || callee.computed) return;
      const other = renamed.get(of(callee.property));
      if (other !== undefined) change(`call ${other}`, callee.property, other);
    },
    Literal: (node) => {
      if (typeof node.value === 'boolean') change('other boolean', node, String(!node.value));
      else if (typeof node.value === 'number') change('other number', node, otherNumber(node.value));
      else if (typeof node.value === 'string' && node.value !== '') change('empty string', node, `''`);
    },
    TemplateElement: ({ start, end }) => {
      const quasi = text.slice(start, end);
      if (!isSql(quasi)) return;
      for (const one of sqlChanges(quasi)) add({ ...one, start: start + one.start, end: start + one.end });
    },
  };

  function swapped(first: Span, second: Span): string {
    return of(second) + text.slice(first.end, second.start) + of(first);
  }
}

function otherNumber(value: number): string {
  if (value === 1) return '0';
  return String(value < 100 ? value + 1 : value * 10);
}
