import type { Figures } from '../../../src/store/figures/figures.ts';

/** Figures by which nothing fires. */
export const quietFigures: Figures = {
  oldestDueMs: null,
  unreleasedMs: null,
  messages: [],
  tries: { published: 0, failed: 0 },
  holds: [],
  groups: [],
  lags: [],
  standing: [],
  receiptsOverdue: [],
  archive: { behindMs: 0, leaves: 0 },
  drift: null,
  servers: [],
  relays: 1,
  clockOffsetMs: 0,
};
