import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { streamTable } from '../../../src/api/live/streams.ts';
import { openApiOf } from '../../../src/api/openapi.ts';
import { sessionCookie } from '../../../src/api/sign-in/cookies.ts';
import { operationTable } from '../../../src/api/table/table.ts';
import { httpApiPage } from '../../../tools/http-api-page.mjs';

interface Described {
  readonly operationId: string;
  readonly description?: string;
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly required: boolean }[];
  readonly requestBody?: object;
  readonly responses: Readonly<Record<string, { readonly headers?: { readonly ETag?: object } }>>;
}

interface Document {
  readonly openapi: string;
  readonly info: { readonly description: string };
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>;
    readonly securitySchemes?: Readonly<Record<string, object>>;
  };
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

test('the document says how a caller is proved: one of the ways is enough', () => {
  const { components, security } = document;
  expect(components.securitySchemes).toMatchObject({
    token: { type: 'http', scheme: 'bearer' },
    password: { type: 'http', scheme: 'basic' },
    session: { type: 'apiKey', in: 'cookie', name: sessionCookie },
  });
  expect(security).toEqual(Object.keys(components.securitySchemes ?? {}).map((name) => ({ [name]: [] })));
});

test('every operation and stream says which rights it needs', () => {
  const needs = new Map(described.map(({ description, operationId }) => [operationId, description]));
  for (const { name, role } of [...operationTable, ...streamTable])
    expect([name, needs.get(name)]).toEqual([name, expect.stringContaining(`Needs the role ${role}`)]);
  for (const { allTopics, name, payloads } of operationTable) {
    expect([name, needs.get(name)?.includes('right to read payloads')]).toEqual([name, payloads === true]);
    expect([name, needs.get(name)?.includes('limited to topics')]).toEqual([name, allTopics === true]);
  }
});

test('what the document says beyond OpenAPI is explained in it', () => {
  const beyond = new Set(JSON.stringify(document).match(/"x-[a-z-]+(?=":)/g));
  expect([...beyond].map((name) => name.slice(1)).toSorted()).toEqual([
    'x-all-topics',
    'x-events',
    'x-payloads',
    'x-role',
  ]);
  for (const name of beyond) expect(document.info.description).toContain(`\`${name.slice(1)}\``);
});

test('every reference of the document leads to a schema, and no schema says less than its keys', () => {
  const text = JSON.stringify(document);
  const named = [...text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name);
  expect(text.match(/"\$ref":/g)).toHaveLength(named.length);
  expect(named).toContain('Problem');
  expect(named.length).toBeGreaterThan(50);
  expect(
    [...new Set(named)].filter((name) => !Object.hasOwn(document.components.schemas, name ?? '')),
  ).toEqual([]);
  expect(text).not.toContain('#/$defs/');
});

test('no schema of the document is a mere reference', { tags: ['faces-describe-the-same'] }, () => {
  const schemas = Object.entries(document.components.schemas);
  expect(schemas.length).toBeGreaterThan(60);
  expect(schemas.filter(([, schema]) => '$ref' in schema).map(([name]) => name)).toEqual([]);
  for (const [name] of schemas) expect(name).toMatch(/^[A-Z][A-Za-z]+$/);
});

test('what heeds If-Match says so, and what it is compared with is described', () => {
  const asking = described.filter(({ parameters }) => parameters.some(({ name }) => name === 'If-Match'));
  expect(asking.map(({ operationId }) => operationId)).toEqual(['editMessage', 'editKept']);
  const answering = described.filter(({ responses }) => responses[200]?.headers?.ETag !== undefined);
  expect(answering.map(({ operationId }) => operationId)).toEqual(['showMessage', 'showKept']);
});

test.each(described)('$operationId names the parameters of its path', ({ parameters, path }) => {
  const inPath = parameters.filter((one) => one.in === 'path' && one.required).map(({ name }) => name);
  expect(inPath).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
});

/** It waits for a broker. */
const otherWays: Readonly<Record<string, string>> = { showMessageLog: 'wait' };

test('what reads has no body, and what changes has one and is repeatable, except reveals and verify', () => {
  for (const { body, method, name, once, way } of operationTable) {
    expect([name, body !== undefined]).toEqual([name, method === 'POST']);
    const repeated = method === 'POST' && !/^(?:reveal|verify)/.test(name);
    expect([name, once === true]).toEqual([name, repeated]);
    if (method === 'GET') expect([name, way]).toEqual([name, otherWays[name] ?? 'read']);
  }
});

test('the headers of a request are described where they are read, and nowhere else', () => {
  for (const { conditional, name, once } of operationTable) {
    const one = described.find(({ operationId }) => operationId === name);
    const headers = one?.parameters.filter((each) => each.in === 'header').map((each) => each.name);
    expect([name, headers]).toEqual([
      name,
      [...(once === true ? ['Idempotency-Key'] : []), ...(conditional === true ? ['If-Match'] : [])],
    ]);
  }
});

test('docs/http-api.md shows every operation', () => {
  const written = readFileSync(new URL('../../../docs/http-api.md', import.meta.url), 'utf8');
  expect(written).toBe(httpApiPage(operationTable, streamTable));
});

test('a time of a request is described as one', () => {
  const text = JSON.stringify(document);
  expect(text).toContain('"name":"createdFrom","in":"query"');
  for (const name of ['createdFrom', 'dueTo'])
    expect(text).toMatch(
      new RegExp(`"name":"${name}","in":"query"[^{}]*"schema":{[^{}]*"format":"date-time"[^{}]*}`),
    );
});
