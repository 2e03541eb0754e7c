import type { Logger } from '../../../src/config/logger.ts';

/** A logger, and what it was told. */
export function listening() {
  const told: (readonly [string, object, string])[] = [];
  const logger: Logger = {
    warn: (facts, message) => void told.push(['warn', facts, message]),
    error: (facts, message) => void told.push(['error', facts, message]),
  };
  return { told, logger };
}
