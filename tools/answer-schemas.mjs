/**
 * Makes `src/api/generated/answer-schemas.ts`: the JSON schema of every answer of the HTTP API, of its type and the docstrings of that.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { createGenerator } from 'ts-json-schema-generator';

const source = 'src/api/answers.ts';
const folder = 'src/api/generated';

/** Schemas of the answers by their names, and those of the types that several have. */
export function answerSchemas() {
  const generator = createGenerator({
    path: source,
    tsconfig: 'tsconfig.json',
    type: 'Answers',
    skipTypeCheck: true,
  });
  const { definitions } = renamed(generator.createSchema('Answers'));
  const { Answers, ...shared } = definitions;
  for (const [name, schema] of Object.entries({ ...Answers.properties, ...shared }))
    assertDescribed(name, schema);
  return { answers: Answers.properties, shared };
}

/** With names and references as OpenAPI has them: `BulkAnswer<ListedKept>` is named `BulkAnswerListedKept`. */
function renamed(schema) {
  const named = (name) => decodeURIComponent(name).replaceAll(/<string>|\W/g, '');
  const text = JSON.stringify(schema, (key, value) => {
    if (key === '$ref')
      return value.replace(/^#\/definitions\/(.*)$/, (_all, name) => `#/components/schemas/${named(name)}`);
    // What an answer may have beyond its type is not said: a later version may add it.
    if (key === 'additionalProperties' && value === false) return undefined;
    return value;
  });
  const { definitions } = JSON.parse(text);
  const entries = Object.entries(definitions).map(([name, definition]) => [named(name), definition]);
  const twice = entries.find(([name], index) => entries.findIndex(([other]) => other === name) !== index);
  if (twice !== undefined) throw new Error(`Two types of answers are named ${twice[0]}.`);
  return { definitions: Object.fromEntries(entries) };
}

/** A type that its module does not export has no schema. */
function assertDescribed(name, schema) {
  if (Object.keys(schema).some((key) => key !== 'description')) return;
  throw new Error(`The answer ${name} has no schema: does its module export its type?`);
}

/** Writes the file, unless it is so already. */
export function writeAnswerSchemas() {
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    `${folder}/answer-schemas.ts`,
    `/** Generated of ${source}. */
export const answerSchemas: {
  readonly answers: Readonly<Record<string, object>>;
  readonly shared: Readonly<Record<string, object>>;
} = ${JSON.stringify(answerSchemas())};
`,
  );
}
