import path from 'node:path';
import type { ReadFolder } from './folder.ts';

/** How a project has set up Prisma, as its schema and configuration say it. Paths are relative to the project. */
export interface PrismaSetup {
  /** Provider of the datasource, such as `postgresql`; `undefined`: the schema was not found. */
  readonly provider: string | undefined;
  /** Name of the variable with the address of the database; `undefined`: none is named. */
  readonly urlVariable: string | undefined;
  /** The module to import the client from, without an ending; `undefined`: the package `@prisma/client`. */
  readonly client: string | undefined;
  /** Whether the client is TypeScript, or a package of JavaScript. */
  readonly generates: 'typescript' | 'javascript';
}

const configFiles = ['ts', 'mts', 'cts', 'js', 'mjs', 'cjs'].map((ending) => `prisma.config.${ending}`);
const usualSchemas = ['prisma/schema.prisma', 'schema.prisma', 'prisma/schema', 'prisma'];

/** @param named the schema that package.json names */
export function readPrisma(folder: ReadFolder, named: string | undefined): PrismaSetup {
  const config = withoutComments(
    configFiles.map((file) => folder.text(file)).find((text) => text !== undefined) ?? '',
  );
  const candidates = [schemaIn(config), named, ...usualSchemas].filter((one) => one !== undefined);
  const found = candidates.find((one) => schemaAt(folder, one) !== '');
  const schema = found === undefined ? '' : schemaAt(folder, found);
  const datasource = block(schema, 'datasource');
  const generator = block(schema, 'generator');
  const generates = valueOf(generator, 'provider') === 'prisma-client' ? 'typescript' : 'javascript';
  const output = valueOf(generator, 'output');
  const base = found?.endsWith('.prisma') === true ? path.posix.dirname(found) : (found ?? '.');
  const home = output === undefined ? undefined : path.posix.join(base, output);
  return {
    provider: valueOf(datasource, 'provider'),
    urlVariable: variableIn(datasource) ?? variableIn(block(config, 'datasource:?')),
    client: home === undefined || generates === 'javascript' ? home : `${home}/client`,
    generates,
  };
}

/** A schema is a file, or a folder of files. */
function schemaAt(folder: ReadFolder, schemaPath: string): string {
  const files = schemaPath.endsWith('.prisma')
    ? [schemaPath]
    : folder
        .names(schemaPath)
        .filter((name) => name.endsWith('.prisma'))
        .map((name) => `${schemaPath}/${name}`);
  return withoutComments(files.map((file) => folder.text(file) ?? '').join('\n'));
}

function schemaIn(config: string): string | undefined {
  const { joined, plain } =
    /\bschema\s*:\s*(?:(?:path\.)?join\((?<joined>[^)]*)\)|['"](?<plain>[^'"]+)['"])/.exec(config)?.groups ??
    {};
  if (plain !== undefined) return path.posix.normalize(plain);
  const parts = Array.from(joined?.matchAll(/['"]([^'"]+)['"]/g) ?? [], ([, part]) => part ?? '');
  return parts.length === 0 ? undefined : path.posix.join(...parts);
}

/** Inside of the first such block. */
function block(text: string, word: string): string {
  return new RegExp(String.raw`\b${word}\s*\w*\s*\{(?<inside>[^}]*)\}`).exec(text)?.groups?.['inside'] ?? '';
}

function valueOf(inside: string, setting: string): string | undefined {
  return new RegExp(String.raw`\b${setting}\s*=\s*"(?<value>[^"]*)"`).exec(inside)?.groups?.['value'];
}

/** In `url = env("NAME")`, `env('NAME')` and `process.env["NAME"]`, or `process.env.NAME`. */
function variableIn(inside: string): string | undefined {
  return /\benv(?:<[^>]*>)?(?:[([]\s*['"]|\.)(?<name>\w+)/.exec(inside)?.groups?.['name'];
}

function withoutComments(text: string): string {
  return text.replaceAll(/^\s*\/\/.*$/gm, '').replaceAll(/\/\*[\s\S]*?\*\//g, '');
}
