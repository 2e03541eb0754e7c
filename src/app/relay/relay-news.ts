import { counted } from '../../core/diagnosis.ts';
import { laneName } from '../../core/lane.ts';
import { timeInWords } from '../../core/time-in-words.ts';
import type { RelayEvent, RelayReport } from '../../relay/report.ts';

/**
 * Tells what changes the state of a relay, a lane, an alert or a bulk operation and is no trouble. Nothing that comes with each message or each
 * batch: lanes are also acquired and freed with each message, where few are sent.
 */
export function relayNews(tell: (facts: object, message: string) => void): RelayReport {
  return (event) => {
    const message = inWords(event);
    if (message === undefined) return;
    const { type, ...facts } = event;
    tell({ event: type, ...facts }, message);
  };
}

function inWords(event: RelayEvent): string | undefined {
  switch (event.type) {
    case 'alert-ended':
      return `alert ${event.rule} is over: ${event.text}`;
    case 'archived':
      return event.count === 0 ? undefined : `archived ${counted(event.count, 'message')}`;
    case 'bulk-started':
      return `carries out the bulk operation ${event.id}`;
    case 'bulk-ended':
      return `the bulk operation ${event.id} has ended`;
    case 'database-back':
      return `PostgreSQL is back, after ${timeInWords(event.awayMs)}`;
    case 'hold-ended':
      // Owners come and go while it lasts.
      return event.over
        ? `lane ${laneName(event)} no longer waits, after ${timeInWords(event.lastedMs)}`
        : undefined;
    case 'lane-acquired':
      return event.lapsed ? `took lane ${laneName(event)} from an owner that had died` : undefined;
    case 'messages-resent':
      return `sends ${counted(event.count, 'message')} of ${event.topic} again, for want of a receipt`;
    case 'reconciled':
      return event.restarted + event.ended === 0
        ? undefined
        : `restarted ${counted(event.restarted, 'workflow')} and ended ${event.ended} that differed from their rows`;
    case 'temporal-back':
      return `Temporal is back, after ${timeInWords(event.awayMs)}`;
    default:
      return undefined;
  }
}
