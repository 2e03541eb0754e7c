import { expect, test } from 'vitest';
import { streamTable } from '../../../src/api/live/streams.ts';
import { openApiOf } from '../../../src/api/openapi.ts';
import { operationTable } from '../../../src/api/table/table.ts';

interface Schema {
  readonly $ref?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
}

interface Asked {
  readonly operationId: string;
  readonly parameters: readonly {
    readonly name: string;
    readonly description?: string;
    readonly schema: Schema;
  }[];
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Schema } } };
}

const document = openApiOf(operationTable, streamTable, '1.0.0') as unknown as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Asked>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
};

/** Names that say all of it. */
const plain = new Set(['topic', 'id', 'name', 'group']);

function resolved(schema: Schema): Schema {
  const name = schema.$ref?.split('/').at(-1);
  return name === undefined ? schema : (document.components.schemas[name] ?? {});
}

test('every parameter and every field of a request says what it means', () => {
  const silent = Object.values(document.paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap(({ operationId, parameters, requestBody }) => {
      const body = resolved(requestBody?.content['application/json'].schema ?? {});
      const fields = Object.entries(body.properties ?? {}).map(([name, field]) => ({ name, ...field }));
      return [...parameters, ...fields]
        .filter((one) => one.description === undefined && !('$ref' in one) && !plain.has(one.name))
        .map(({ name }) => `${operationId} ${name}`);
    });
  expect(silent).toEqual([]);
});
