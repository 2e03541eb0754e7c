import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { z } from 'zod';

/** The module of the Kubernetes project that has its schemas as files. */
const source = 'sigs.k8s.io/kubectl-validate@v0.0.4';
const release = '1.30';

interface Schema {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly [keyword: string]: unknown;
}

const openApi = z.object({
  components: z.object({ schemas: z.record(z.string(), z.looseObject({})) }),
});
const typed = z.object({ apiVersion: z.string(), kind: z.string() });

/** What Kubernetes would say against an object: also of a field that it does not know. Empty if it accepts it. */
export function complaintsOf(object: unknown): readonly string[] {
  const { apiVersion, kind } = typed.parse(object);
  const folder = apiVersion.includes('/') ? 'apis' : 'api';
  const file = join(moduleFolder(), 'pkg/openapiclient/builtins', release, folder, `${apiVersion}.json`);
  if (!existsSync(file)) return [`no API ${apiVersion}`];
  const { components } = openApi.parse(JSON.parse(readFileSync(file, 'utf8')));
  const schemas = Object.fromEntries(
    Object.entries(components.schemas).map(([name, schema]) => [name, closed(schema)]),
  );
  const [name] = Object.entries(components.schemas).flatMap(([one, schema]) =>
    groupKinds
      .safeParse(schema)
      .data?.['x-kubernetes-group-version-kind'].some((known) => known.kind === kind) &&
    one.endsWith(`.${kind}`)
      ? [one]
      : [],
  );
  if (name === undefined) return [`no kind ${kind} in ${apiVersion}`];
  const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
  const validate = ajv.compile({ components: { schemas }, $ref: `#/components/schemas/${name}` });
  if (validate(object)) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}

const groupKinds = z.object({ 'x-kubernetes-group-version-kind': z.array(z.object({ kind: z.string() })) });

/** A server reports a field that is not in the schema, which the schema itself leaves open. */
function closed(schema: Schema): Schema {
  return schema.properties === undefined ? schema : { additionalProperties: false, ...schema };
}

let downloaded: string | undefined;

function moduleFolder(): string {
  const said = () =>
    execFileSync('go', ['mod', 'download', '-json', source], {
      cwd: tmpdir(),
      env: { ...process.env, GOFLAGS: '-modcacherw' },
      encoding: 'utf8',
    });
  return (downloaded ??= z.object({ Dir: z.string() }).parse(JSON.parse(said())).Dir);
}
