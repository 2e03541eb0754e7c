import { expect, test } from 'vitest';
import { answerSchemas } from '../../../src/api/generated/answer-schemas.ts';
import { operationTable } from '../../../src/api/table/table.ts';
import { answerProblems } from '../../support/fixtures/answer-problems.ts';

const { answers, shared } = answerSchemas;

/** Every object among the schemas, with the way to it. */
function schemasIn(schema: unknown, way: string): readonly (readonly [string, object])[] {
  if (typeof schema !== 'object' || schema === null) return [];
  return [
    [way, schema] as const,
    ...Object.entries(schema).flatMap(([name, part]) => schemasIn(part, `${way}.${name}`)),
  ];
}

test('every operation answers with a type that is described, and no type is described for nothing', () => {
  const used = new Set(operationTable.map(({ answer }) => answer));
  expect([...used].filter((name) => !Object.hasOwn(answers, name))).toEqual([]);
  // Those of streams.
  expect(Object.keys(answers).filter((name) => !used.has(name as never))).toEqual([
    'TailedMessage',
    'Trouble',
  ]);
});

test('no answer is any object', () => {
  const all = Object.entries(shared).flatMap(([name, schema]) => schemasIn(schema, name));
  const open = all.filter(
    ([, schema]) =>
      'type' in schema &&
      schema.type === 'object' &&
      !('properties' in schema || 'additionalProperties' in schema),
  );
  expect(all.length).toBeGreaterThan(500);
  expect(open.map(([way]) => way)).toEqual([]);
});

test('an answer that lacks a member, or has another kind of value, does not fit its description', () => {
  const me = { name: 'olga', role: 'operator', payloads: false, topics: null, operations: ['showMe'] };
  expect(answerProblems('Me', me)).toEqual([]);
  expect(answerProblems('Me', { ...me, role: 'king' })).toHaveLength(1);
  expect(answerProblems('Me', { ...me, topics: undefined })).toEqual([
    " must have required property 'topics'",
  ]);
  expect(answerProblems('Silenced', { until: 'soon' })).not.toEqual([]);
  expect(answerProblems('Silenced', { until: '2026-11-30T08:14:00.000Z' })).toEqual([]);
});
