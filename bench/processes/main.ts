import { serve } from '../contenders/serve.ts';
import { openApi } from './api.ts';
import { openConsumer } from './consumer.ts';

serve(process.argv[2] === 'api' ? openApi : openConsumer);
