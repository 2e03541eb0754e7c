import pg, { type CustomTypesConfig } from 'pg';
import { init } from 'pg-types/lib/textParsers.js';

type Parser = (text: string) => unknown;
type TypeId = Parameters<typeof pg.types.getTypeParser>[0];

const parsers = new Map<number, Parser>();
init((type, parser) => parsers.set(type, parser));

/**
 * Parses values as pg does by itself. An application may have set other parsers for all of its process, such as
 * `pg.types.setTypeParser(20, BigInt)` or `pg.defaults.parseInt8`; they are for its own connections.
 */
export const ownTypes: CustomTypesConfig = {
  getTypeParser(type: TypeId, format?: 'text' | 'binary'): unknown {
    return format === 'binary' ? pg.types.getTypeParser(type, format) : (parsers.get(type) ?? String);
  },
};
