import { reasonOf } from '../core/reason.ts';
import type { Destination } from './destination.ts';
import type { AlertMessage } from './message.ts';
import type { SettledDestinations } from './settings.ts';

const answerWithinMs = 10_000;

/** Posts alerts as JSON. No error names its URL: for incoming webhooks that is a secret. */
export function webhookDestination({
  secret,
  url,
}: NonNullable<SettledDestinations['webhook']>): Destination {
  return {
    name: 'webhook',
    async tell(message, signal) {
      const body = JSON.stringify({ text: textOf(message), title: message.title, alerts: message.alerts });
      const signed = secret?.().sign(message.id, body, new Date());
      const late = AbortSignal.timeout(answerWithinMs);
      const to = url();
      const response = await fetch(to, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...signed },
        body,
        redirect: 'manual',
        signal: AbortSignal.any([signal, late]),
      }).catch((error: unknown) => {
        throw new Error(
          late.aborted ? `no answer within ${answerWithinMs / 1_000} s` : whyOf(error).replaceAll(to, '…'),
        );
      });
      await response.body?.cancel().catch(() => undefined);
      if (!response.ok) throw new Error(`it answered ${response.status}`);
    },
  };
}

/** In the format of Slack, these characters begin links and mentions. */
function textOf({ lines, title }: AlertMessage): string {
  return [title, ...lines]
    .join('\n')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
}

/** `fetch` says "fetch failed", and its cause says why. */
function whyOf(error: unknown): string {
  return reasonOf(error instanceof Error && error.cause instanceof Error ? error.cause : error);
}
