import type { Bugs } from '../mutation.ts';

/** What is said of messages that were processed, failed or wait. */
export const reportBugs: Bugs = {
  'confirmed-was-processed': {
    'test/integration/database/adopt-log.test.ts': {
      'adopted-log-keeps-what-it-published': {
        file: 'src/store/installation/adopt.ts',
        find: 'await takeOutPassed(sql);',
      },
    },
    'test/integration/database/log.test.ts': {
      'awaited-receipts-in-the-log': {
        file: 'outbox.write_store()',
        find: 't.confirm_group is null and',
      },
    },
    'test/integration/receipts/receipts.test.ts': {
      'settle-overwrites-a-state': {
        file: 'src/store/lane/settle.ts',
        find: `state = case when m.state = 'ready' then c.state else m.state end,`,
        replace: 'state = c.state,',
        title: 'the settle does not undo an earlier receipt, and the row still gets its offset',
      },
    },
    'test/unit/relay/overdue-verdict.test.ts': {
      'overdue-at-the-first-offset-not-passed': {
        file: 'src/relay/overdue-verdict.ts',
        find: 'BigInt(next) <= BigInt(offset)',
        replace: 'BigInt(next) < BigInt(offset)',
      },
    },
    'test/unit/relay/overdue-offsets.test.ts': {
      'receipts-read-before-the-offsets': {
        file: 'src/relay/overdue-offsets.ts',
        find: `const passed: Passed = unplaced
      ? await this.#times.passed(group, address)
      : { offsets: await this.#reader.committed(group, address), before: undefined, soon: false };
    return { at, passed, receiptEnds: await this.#reader.ends(this.#receipts.address) };`,
        replace: `const receiptEnds = await this.#reader.ends(this.#receipts.address);
    const passed: Passed = unplaced
      ? await this.#times.passed(group, address)
      : { offsets: await this.#reader.committed(group, address), before: undefined, soon: false };
    return { at, passed, receiptEnds };`,
      },
    },
    'test/unit/relay/passed-times.test.ts': {
      'ends-read-before-the-time': {
        file: 'src/relay/passed-times.ts',
        find: 'return { time, ends,',
        replace: 'return { time: await this.#clock(), ends,',
      },
      'times-of-a-wrong-clock-stay-passed': {
        file: 'src/relay/passed-times.ts',
        find: 'time !== undefined && time > now',
        replace: 'time === now',
      },
    },
    'test/transports/redis/offsets.test.ts': {
      'open-entries-of-redis-count-as-passed': {
        file: 'src/brokers/redis/source/stream-scripts.ts',
        find: `return { open or '', field(group, 'last-delivered-id') }`,
        replace: `return { '', field(group, 'last-delivered-id') }`,
      },
    },
    'test/transports/rocketmq/offsets.test.ts': {
      'only-one-name-server-asked': {
        file: 'src/brokers/rocketmq/client/administration.ts',
        find: 'const all = told.flat();',
        replace: 'const all = told.find((some) => some.length > 0) ?? [];',
      },
      'open-messages-of-rocketmq-count-as-passed': {
        file: 'src/brokers/rocketmq/client/group-offsets.ts',
        find: `String(numbers['consumerOffset'])`,
        replace: `String(numbers['brokerOffset'])`,
      },
    },
  },
  'failures-reported': {
    'test/integration/relay/told-failures.test.ts': {
      'failures-told-while-lanes-change': {
        file: 'src/store/lane/untold.ts',
        find: 'and not exists (select from outbox.topic_change c where c.topic = $1)',
        title: 'a drain during a change of lanes, and one that read before the last step, forget no',
      },
      'told-what-was-not-read': {
        file: 'src/store/lane/untold.ts',
        find: 'and untold_from = $4 and untold_to = $5',
        replace: 'and untold_from = $4 and $5::bigint is not null',
        title: 'a drain during a change of lanes, and one that read before the last step, forget no',
      },
      'changed-lanes-forget-what-is-untold': {
        file: 'src/store/lane/lanes-switch.ts',
        find: 'await shareUntold(sql, change);',
        title: 'failures that a dead relay has settled but not reported are reported although',
      },
      'failures-of-a-dead-relay-not-reported': {
        file: 'src/relay/lane-settling.ts',
        find: 'this.#untold = untold;',
        replace: 'this.#untold = untold && false;',
        title: 'failures that a dead relay has settled but not reported are reported once by the next',
      },
      'lane-without-messages-reports-nothing': {
        file: 'outbox.has_work()',
        find: 'p_lane.untold_from is not null',
        replace: 'p_lane.untold_from is not null and false',
        title: 'a lane with nothing but failures of a dead relay is taken to report them',
      },
    },
  },
  'on-failed-called-once': {
    'test/integration/database/archive-untold.test.ts': {
      'failure-archived-before-it-is-told': {
        file: 'src/store/retention/archive.ts',
        find: 'or m.notified is not false or',
        replace: 'or true or',
      },
    },
    'test/integration/relay/failure-notices.test.ts': {
      'failure-without-a-nudge': {
        file: 'src/app/relay/deliver.ts',
        find: `if (event.type === 'failed') notices?.nudge();`,
      },
      'hook-called-for-each-message-while-it-is-away': {
        file: 'src/relay/failure-notices.ts',
        find: 'this.#rest.leftMs === 0 &&',
      },
      'retry-keeps-its-notice': {
        file: 'outbox.note_failure()',
        find: `case when new.state = 'failed' then false end`,
        replace: 'coalesce(new.notified, false)',
      },
    },
  },
  'alert-hook-called-once': {
    'test/integration/kafka/stalled-groups.test.ts': {
      'alert-is-called-for-at-every-look': {
        file: 'src/watch/alert-calls.ts',
        find: 'if (!(await noteCall(sql, uncalled))) return;',
        title: 'a group that stands while messages wait is told once',
      },
      'alert-is-noted-before-its-call': {
        file: 'src/watch/alert-calls.ts',
        find: 'await lendTo(name, (tx) => onAlert(tx, { ...facts, of }), sql);',
        replace: `await sql.query('commit').then(() => lendTo(name, (tx) => onAlert(tx, { ...facts, of }), sql));`,
        title: 'a relay that dies in the call has told nobody',
      },
      'rejected-call-holds-up-the-others': {
        file: 'src/watch/alert-calls.ts',
        find: 'errors.push(error);',
        replace: 'errors.push(error); break;',
        title: 'calls that are rejected rest for longer and longer, hold up no other',
      },
      'each-relay-looks-at-groups': {
        file: 'src/store/installation/standing-groups.ts',
        find: 'where not outbox.lately(l.began_at, $3::float8)',
        replace: 'where $3::float8 > 0',
        title: 'relays that run at once tell of each stall once, and ask the broker as often as one does',
      },
      'slow-look-voids-itself': {
        file: 'src/store/installation/standing-groups.ts',
        find: 'and look < $4::bigint',
        replace:
          'and (select l.number from outbox.group_look l where l.transport = $1 and l.address = $2) = $4::bigint',
        title: 'a broker that answers more slowly than relays look is heard',
      },
      'relay-forgets-its-hook-for-alerts': {
        file: 'src/app/relay/alerts.ts',
        find: 'calls?.start();',
        title: 'a relay calls onAlert of its configuration, and logs a line',
      },
    },
    'test/unit/relay/standing-places.test.ts': {
      'one-moving-partition-hides-the-others': {
        file: 'src/relay/standing-places.ts',
        find: 'known?.at === at ?',
        replace: 'known?.at === at && Object.keys(places).length === 0 ?',
      },
    },
  },
  'log-has-one-schema': {
    'test/unit/inbox/consumer-joins.test.ts': {
      'connection-resumed-at-each-assignment': {
        file: 'src/inbox/start-consumer.ts',
        find: 'awaySince = undefined;',
      },
    },
    'test/unit/app/trouble-repeats.test.ts': {
      'outage-told-every-five-seconds': {
        file: 'src/app/trouble-repeats.ts',
        find: 'lasts && lasting.has(event) ?',
        replace: 'lasts && false ?',
      },
      'end-of-an-outage-told-each-time-it-flaps': {
        file: 'src/app/trouble-repeats.ts',
        find: 'if (open.delete(ended))',
      },
      'holds-of-lanes-as-repeats': {
        file: 'src/app/trouble-repeats.ts',
        find: `changesOfLanes.has(event) ? [facts['lane']] :`,
      },
      'names-compared-without-digits': {
        file: 'src/app/trouble-repeats.ts',
        find: 'JSON.stringify(named) + JSON.stringify(others).replaceAll(passingParts',
        replace: '(JSON.stringify(named) + JSON.stringify(others)).replaceAll(passingParts',
      },
      'alerts-of-one-reading-cut-at-twenty': {
        file: 'src/app/trouble-repeats.ts',
        find: '&& !changes.has(event)',
      },
    },
    'test/unit/app/outage-lines.test.ts': {
      'outage-under-the-name-of-its-error': {
        file: 'src/app/trouble-lines.ts',
        find: '...(server !== undefined && { server }), ...others,',
        replace: '...others, ...(server !== undefined && { server }),',
      },
      'outage-of-the-database-told-by-each-activity': {
        file: 'src/app/trouble-lines.ts',
        find: `return !(away && event.type === 'error' &&`,
        replace: `return !(!away && event.type === 'error' &&`,
      },
    },
    'test/unit/app/relay-news.test.ts': {
      'hold-told-by-each-owner': {
        file: 'src/app/trouble-lines.ts',
        find: 'if (event.continued && told.has(lane)) return false;',
      },
      'line-of-an-archive-that-moved-nothing': {
        file: 'src/app/relay/relay-news.ts',
        find: 'event.count === 0 ? undefined :',
      },
      'end-of-an-alert-not-logged': {
        file: 'src/app/relay/relay-news.ts',
        find: `case 'alert-ended':`,
        replace: `case 'alert-began':`,
      },
    },
    'test/unit/inbox/intake-batches.test.ts': {
      'try-of-several-names-the-first': {
        file: 'src/inbox/intake/apply.ts',
        find: 'chunk.length === 1 ? keyedOf(first) : positionOf(first)',
        replace: 'chunk.length === 1 ? positionOf(first) : keyedOf(first)',
      },
    },
    'test/unit/app/trouble-lines.test.ts': {
      'line-of-a-try-without-its-place': {
        file: 'src/app/trouble-words.ts',
        find: '`offset ${event.offset} of ${placeOf(event)}`',
        replace: `'a message'`,
      },
    },
    'test/integration/cli/relay-log.test.ts': {
      'relay-logs-troubles-to-standard-error': {
        file: 'src/cli/relay-command.ts',
        find: 'startRelay(checked, { report: relayNews(log.info), logger: log })',
        replace: 'startRelay(checked, { report: relayNews(log.info) })',
        built: true,
      },
    },
    'test/integration/cli/api.test.ts': {
      'api-logs-failed-requests-to-standard-error': {
        file: 'src/cli/api-command.ts',
        find: '{ authentication, logger: log }',
        replace: '{ authentication }',
        built: true,
      },
    },
  },
};
