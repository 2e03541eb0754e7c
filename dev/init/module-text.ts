import type { Project } from './project.ts';

/** The syntax of a module: `require` only in JavaScript that is CommonJS, because TypeScript compiles `import` to it. */
type Syntax = 'import' | 'require';

/** Writes statements in the syntax of a project. */
export interface ModuleText {
  readonly importNames: (names: readonly string[], from: string) => string;
  readonly importDefault: (name: string, from: string) => string;
  /** `value` is an expression. */
  readonly exportName: (name: string, value: string) => string;
  readonly exportDefault: (value: string) => string;
}

/** The way in which files of this project import and export. */
export function moduleTextFor({ language, modules }: Pick<Project, 'language' | 'modules'>): ModuleText {
  const syntax: Syntax = language === 'javascript' && modules === 'commonjs' ? 'require' : 'import';
  return texts[syntax];
}

const texts: Readonly<Record<Syntax, ModuleText>> = {
  import: {
    importNames: (names, from) => `import { ${names.join(', ')} } from '${from}';`,
    importDefault: (name, from) => `import ${name} from '${from}';`,
    exportName: (name, value) => `export const ${name} = ${value};`,
    exportDefault: (value) => `export default ${value};`,
  },
  require: {
    importNames: (names, from) => `const { ${names.join(', ')} } = require('${from}');`,
    importDefault: (name, from) => `const ${name} = require('${from}');`,
    exportName: (name, value) => `exports.${name} = ${value};`,
    exportDefault: (value) => `module.exports = ${value};`,
  },
};
