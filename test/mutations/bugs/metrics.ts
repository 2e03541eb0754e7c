import type { Bugs } from '../mutation.ts';

/** Metrics and traces. */
export const metricBugs: Bugs = {
  'metrics-say-what-happened': {
    'test/integration/operations/figures-read.test.ts': {
      'lags-of-the-newest-relay-only': {
        file: 'src/store/installation/lags.ts',
        find: 'living.toSorted((a, b) => b.seenMs - a.seenMs)',
        replace: 'living.slice(0, 1)',
      },
      'clock-that-is-off-least-is-told': {
        file: 'src/store/figures/read-figures.ts',
        find: 'Math.abs(b.aheadMs) - Math.abs(a.aheadMs)',
        replace: 'Math.abs(a.aheadMs) - Math.abs(b.aheadMs)',
      },
    },
    'test/integration/operations/own-capabilities.test.ts': {
      'first-row-of-a-relay-knows-no-lag': {
        file: 'src/app/relay/relay-presence.ts',
        find: 'Promise.all([Promise.all(views), asked])',
        replace: 'Promise.all([Promise.all(views)])',
      },
      'lag-of-one-topic-of-an-address': {
        file: 'src/app/relay/relay-presence.ts',
        find: '[...(names.get(rules.address) ?? []), name]',
        replace: '[name]',
      },
      'relay-records-no-clock': {
        file: 'src/app/relay/relay-presence.ts',
        find: 'clockOffsetMs: await readClockOffset(database)',
        replace: 'clockOffsetMs: (await readClockOffset(database)) * 0',
      },
    },
    'test/integration/kafka/unread-partitions.test.ts': {
      'lag-without-unread-partitions': {
        file: 'src/brokers/kafka/client/lag.ts',
        find: 'known.get(partition) ?? 0n',
        replace: 'known.get(partition) ?? BigInt(high)',
      },
      'lag-without-unread-topics': {
        file: 'src/brokers/kafka/source/membership.ts',
        find: 'if (offsets.length === 0) return;',
        replace: 'if (offsets.length === 0 || this.#subscription.fromBeginning) return;',
      },
    },
    'test/integration/relay/database-answers.test.ts': {
      'database-away-is-not-measured': {
        file: 'src/app/relay/database-watch.ts',
        find: 'await orLate(asking, silentFor.ms)',
        replace: 'await asking',
      },
    },
    'test/unit/deploy/prometheus.test.ts': {
      'clock-alert-of-prometheus-at-thirty-seconds': {
        file: 'deploy/prometheus/rules.yaml',
        find: 'max by (job, host) (abs(outbox_clock_offset_seconds)) > 2',
        replace: 'max by (job, host) (abs(outbox_clock_offset_seconds)) > 30',
        title: 'each Prometheus rule fires after its time',
      },
      'dashboard-shows-the-holds-of-one-relay': {
        file: 'deploy/grafana/dashboard.json',
        find: 'sum(outbox_holds{',
        replace: 'max(outbox_holds{',
        title: 'the dashboard adds up',
      },
    },
    'test/unit/relay/batch-delays.test.ts': {
      'lateness-counts-as-delay': {
        file: 'src/relay/batch-delays.ts',
        find: 'if (dueAtMs === null) delaysMs',
        replace: 'if (dueAtMs !== undefined) delaysMs',
      },
      'retries-count-as-delay': {
        file: 'src/relay/batch-delays.ts',
        find: 'if (attempts > 0 || resent) return;',
        replace: 'if (resent) return;',
      },
      'delays-of-the-first-messages-only': {
        file: 'src/relay/batch-delays.ts',
        find: 'const index = Math.floor(place);',
        replace: 'const index = Math.floor(place / step);',
      },
    },
    'test/unit/inbox/consumer-health.test.ts': {
      'foreign-topics-are-counted-one-by-one': {
        file: 'src/inbox/consumer-counts.ts',
        find: '(counted ?? this.#ofOthers)[end] += 1;',
        replace: 'if (counted !== undefined) counted[end] += 1;',
      },
    },
    'test/unit/inbox/handling-metrics.test.ts': {
      'counts-end-with-their-consumer': {
        file: 'src/inbox/handling/handled-counts.ts',
        find: 'for (const count of read()) this.add(count);',
        replace: 'read();',
      },
      'one-consumer-counts-for-all': {
        file: 'src/inbox/handling/handled-counts.ts',
        find: 'value: value + (sums.get(key)?.value ?? 0)',
        replace: 'value: Math.max(value, sums.get(key)?.value ?? 0)',
      },
    },
    'test/unit/watch/figure-metrics.test.ts': {
      'figures-of-a-gone-group-stay': {
        file: 'src/watch/figure-metrics.ts',
        find: '&& this.#groups.has(group) &&',
        replace: '&& !this.#groups.has(group) &&',
      },
      'unknown-lag-is-none': {
        file: 'src/watch/figure-metrics.ts',
        find: 'this.#groups.has(group) && !groups',
        replace: 'this.#groups.has(group) || !groups',
      },
    },
    'test/integration/telemetry/metrics.test.ts': {
      'claim-forgets-due-times': {
        file: 'outbox.write_claim()',
        find: 'or b.due_at is not null',
      },
      'tries-of-handlers-not-counted': {
        file: 'src/inbox/route.ts',
        find: 'context.tried?.(this.topic, 1);',
      },
      'failed-tries-of-handlers-not-counted': {
        file: 'src/inbox/handling/handler-transactions.ts',
        find: 'metrics?.tried(handling.tries, { error });',
        replace: 'metrics?.tried(handling.tries);',
      },
    },
    'test/integration/telemetry/receive-metrics.test.ts': {
      'received-repetition-counts-as-handled': {
        file: 'src/inbox/http/answer-request.ts',
        find: 'if (duplicate) await receiveMetrics.repeated(received);',
        replace: 'if (duplicate && received.group === "") await receiveMetrics.repeated(received);',
      },
    },
  },
  'trace-leads-to-effect': {
    'test/unit/telemetry/spans.test.ts': {
      'spans-without-an-sdk': {
        file: 'src/telemetry/span.ts',
        find: 'provider.getDelegateTracer(scope)',
        replace: 'provider.getTracer(scope)',
      },
      'handler-outside-of-its-span': {
        file: 'src/telemetry/span.ts',
        find: 'api.trace.setSpan(parent, span)',
        replace: 'parent',
      },
      'unsampled-senders-linked': {
        file: 'src/telemetry/span-attributes.ts',
        find: '|| (sender.traceFlags & api.TraceFlags.SAMPLED) === 0',
      },
      'links-without-a-limit': {
        file: 'src/telemetry/span-attributes.ts',
        find: 'if (links.length === mostLinks) break;',
      },
      'batch-under-the-activity-of-its-lane': {
        file: 'src/telemetry/sender-spans.ts',
        find: 'trace.setSpanContext(ROOT_CONTEXT, first.context) : ROOT_CONTEXT',
        replace: 'api.context.active() : ROOT_CONTEXT',
      },
    },
    'test/unit/inbox/first-try.test.ts': {
      'first-try-lost-in-parking': {
        file: 'src/inbox/handling/kept.ts',
        find: ', firstTry: firstTryOf(incoming)',
      },
    },
    'test/integration/inbox/span-commit.test.ts': {
      'span-ends-before-the-commit': {
        file: 'src/inbox/route.ts',
        find: 'process(processor, this, () => handler(tx, this.#message, context), context.outcome);',
        replace: 'process(processor, this, () => handler(tx, this.#message, context));',
      },
      'failed-commit-told-as-success': {
        file: 'src/inbox/handling/handler-transactions.ts',
        find: 'handling.outcome.end({ error });',
        replace: 'handling.outcome.end(undefined);',
      },
      'parked-behind-its-key-without-a-link': {
        file: 'src/inbox/intake/applier.ts',
        find: 'await spans.park(route.processor, { message, incoming }, context.outcome);',
      },
    },
    'test/unit/telemetry/span-end.test.ts': {
      'rolled-back-try-told-as-success': {
        file: 'src/telemetry/work-end.ts',
        find: 'this.#tell({ error: undefined });',
        replace: 'this.#tell(undefined);',
      },
    },
    'test/integration/http/receive-trace.test.ts': {
      'span-of-a-request-ends-before-the-commit': {
        file: 'src/inbox/http/answer-request.ts',
        find: '() => promised(work), end);',
        replace: '() => promised(work));',
      },
    },
  },
};
