import { openBare } from './bare.ts';
import { openOurs } from './ours.ts';
import { serve } from './serve.ts';

serve(process.argv[2] === 'bare' ? openBare : openOurs);
