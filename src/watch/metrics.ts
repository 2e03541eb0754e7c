import { countedMetrics } from '../telemetry/counted-metrics.ts';
import { figureGauges } from './figure-gauges.ts';

/** All metrics of the product. */
export const metrics = { ...countedMetrics, ...figureGauges };
