import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { streamTable } from '../../../src/api/live/streams.ts';
import { openApiOf } from '../../../src/api/openapi.ts';
import { operationTable } from '../../../src/api/table/table.ts';
import { httpApiPage } from '../../../tools/http-api-page.mjs';

interface Described {
  readonly operationId: string;
  readonly parameters: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: object;
  readonly responses: Readonly<Record<string, { readonly headers?: { readonly ETag?: object } }>>;
}

interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

const document = openApiOf(operationTable, streamTable, '1.0.0') as unknown as Document;
const described = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, one]) => ({ path, method, ...one })),
);

test('the document describes every operation and stream once, and nothing else', () => {
  const names = described.map(({ operationId }) => operationId);
  expect(names.toSorted()).toEqual([...operationTable, ...streamTable].map(({ name }) => name).toSorted());
  expect(new Set(names).size).toBe(names.length);
});

test('no two operations have one route', () => {
  const routes = operationTable.map(({ method, path }) => `${method} ${path.replaceAll(/\{\w+\}/g, '{}')}`);
  expect(new Set(routes).size).toBe(routes.length);
});

test('every reference of the document leads to a schema, and no schema says less than its keys', () => {
  const text = JSON.stringify(document);
  const named = [...text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name);
  expect(named.length).toBeGreaterThan(50);
  expect(
    [...new Set(named)].filter((name) => !Object.hasOwn(document.components.schemas, name ?? '')),
  ).toEqual([]);
  expect(text).not.toContain('#/$defs/');
});

test('no schema of the document is a mere reference', () => {
  const schemas = Object.entries(document.components.schemas);
  expect(schemas.length).toBeGreaterThan(30);
  expect(schemas.filter(([, schema]) => '$ref' in schema).map(([name]) => name)).toEqual([]);
});

test('what heeds If-Match says so, and what it is compared with is described', () => {
  const asking = described.filter(({ parameters }) => parameters.some(({ name }) => name === 'If-Match'));
  expect(asking.map(({ operationId }) => operationId)).toEqual(['editMessage', 'editKept']);
  const answering = described.filter(({ responses }) => responses[200]?.headers?.ETag !== undefined);
  expect(answering.map(({ operationId }) => operationId)).toEqual(['showMessage', 'showKept']);
});

test.each(described)('$operationId names the parameters of its path', ({ parameters, path }) => {
  const inPath = parameters.filter((one) => one.in === 'path').map(({ name }) => name);
  expect(inPath).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
});

/** One looks at locks, one waits for a broker. */
const otherWays: Readonly<Record<string, string>> = { showKept: 'change', showMessageLog: 'wait' };

test('what reads has no body, and what changes has one and is repeatable, except reveals and verify', () => {
  for (const { body, method, name, once, way } of operationTable) {
    expect([name, body !== undefined]).toEqual([name, method === 'POST']);
    const repeated = method === 'POST' && !/^(?:reveal|verify)/.test(name);
    expect([name, once === true]).toEqual([name, repeated]);
    if (method === 'GET') expect([name, way]).toEqual([name, otherWays[name] ?? 'read']);
  }
});

test('docs/http-api.md shows every operation', () => {
  const written = readFileSync(new URL('../../../docs/http-api.md', import.meta.url), 'utf8');
  expect(written).toBe(httpApiPage(operationTable, streamTable));
});
