import type { Bugs } from '../mutation.ts';

/** What handlers do happens once. */
export const effectBugs: Bugs = {
  'effect-once': {
    'test/integration/inbox/effect-once.test.ts': {
      'id-noted-before-its-effects': {
        file: 'src/inbox/intake/applier.ts',
        find: 'const arrivals = await noteArrivals(sql, group, messages, client.limits);',
        replace: `const arrivals = await client.$transaction((own) =>
        noteArrivals(sqlOf(own), group, messages, client.limits),
      );`,
      },
    },
    'test/integration/inbox/unparsed-results.test.ts': {
      'misread-arrivals-are-new': {
        file: 'src/store/inbox/receive.ts',
        find: 'return readRow(rows, arrivalsRow).arrivals;',
        replace: 'try { return readRow(rows, arrivalsRow).arrivals; } catch { return []; }',
      },
    },
    'test/integration/database/global-parsers.test.ts': {
      'own-connections-parse-as-the-application': {
        file: 'src/store/database/client-config.ts',
        find: 'types: ownTypes,',
      },
    },
    'test/integration/inbox/foreign.test.ts': {
      'ids-of-two-sources-equal': {
        file: 'src/inbox/reading/message-id.ts',
        find: `if (source === undefined || source === '')`,
        replace: `if (source === undefined || source !== '')`,
        title: 'of two systems that both count their events from 1 every event is handled and every',
      },
    },
    'test/integration/inbox/chosen-ids.test.ts': {
      'chosen-ids-of-two-outboxes-equal': {
        file: 'src/inbox/reading/message-id.ts',
        find: 'if (!chosen && installationOf',
        replace: 'if (installationOf',
      },
    },
    'test/integration/http/receive-node.test.ts': {
      'chosen-ids-of-two-outboxes-equal-on-the-way': {
        file: 'src/core/chosen-id.ts',
        find: 'return installation === undefined ? id : chosenId(installation, id);',
        replace: 'return id;',
      },
    },
  },
  'window-kept': {
    'test/integration/database/archive.test.ts': {
      'suspected-leaf-archived-at-once': {
        file: 'src/store/retention/leaf.ts',
        find: 'suspected ? lane.suspectUpTo : lane.',
        title: 'messages visible to a dead owner stay for a day after they were passed, even where',
      },
    },
    'test/integration/database/adopt-epochs.test.ts': {
      'adoption-leaves-epochs-as-they-came': {
        file: 'src/store/installation/adopt.ts',
        find: 'await renewInbox(sql);',
      },
    },
    'test/integration/inbox/processed-epochs.test.ts': {
      'epoch-aged-from-its-begin': {
        file: 'src/store/inbox/epochs.ts',
        find: 'coalesce(e.ended_at, e.begun_at)',
        replace: 'e.begun_at',
        title: 'an epoch lasts a quarter of the window, is dropped a window after its end, and at most',
      },
    },
    'test/invariants/dedup-window.test.ts': {
      'epoch-ends-under-its-writers': {
        file: 'outbox.roll_processed()',
        find: 'lock table only outbox.processed in share row exclusive mode;',
      },
    },
    'test/integration/inbox/processed-drop.test.ts': {
      'epoch-dropped-with-ids-of-kept-messages': {
        file: 'outbox.drop_processed()',
        find: 'and e.kept_done',
      },
      'late-effect-protected-by-its-old-epoch': {
        file: 'outbox.renew_processed()',
        find: 'o.epoch < v_epoch',
        replace: 'o.epoch > v_epoch',
      },
      'originals-of-a-copy-not-renewed': {
        file: 'outbox.end_try()',
        find: 'if v_originals is not null then',
        replace: 'if false then',
      },
    },
  },
  'fast-filter-loses-nothing': {
    'test/unit/inbox/seen-filter.test.ts': {
      'filter-that-fails-has-seen': {
        file: 'src/inbox/window/filter-in-epoch.ts',
        find: `} catch {
        return nothing;`,
        replace: `} catch {
        return new Set(ids);`,
      },
    },
    'test/integration/inbox/filter.test.ts': {
      'filter-closed-before-the-intake': {
        file: 'src/inbox/start-consumer.ts',
        find: 'const failing = () => sources.failing();',
        replace: `if (context.filter !== undefined) running.add(async () => context.filter?.close());
  const failing = () => sources.failing();`,
      },
      'filter-noted-before-the-commit': {
        file: 'src/inbox/intake/settle-one.ts',
        find: 'const settled = await this.#settled(',
        replace: `await this.#outcomes.note([message], [{ kind: 'handled' }]);
    const settled = await this.#settled(`,
      },
    },
  },
  'killing-message-fails': {
    'test/integration/inbox/marks.test.ts': {
      'marks-never-written': {
        file: 'src/store/inbox/marks.ts',
        find: '$6::integer from quick`;',
        replace: '$6::integer from quick where false`;',
      },
      'marks-of-other-members-are-not-read': {
        file: 'src/store/inbox/marks.ts',
        find: 'and m.partition = $3 and m.owner <> $4::uuid',
        replace: 'and m.partition = $3 and m.owner = $4::uuid',
      },
    },
    'test/integration/parked/kills.test.ts': {
      'parked-deaths-not-counted': {
        file: 'outbox.bury_try()',
        find: '+ v_killed::integer',
        title: 'a message in hand when a process died is tried alone, and failed at its third death',
      },
      'retried-message-keeps-its-deaths': {
        file: 'outbox.retry_kept()',
        find: 'attempts = 0, kills = 0, updated_at',
        replace: 'attempts = 0, updated_at',
        title: 'a message that was failed by deaths and is retried by an operator has all of its tries',
      },
      'death-counts-as-an-attempt': {
        file: 'outbox.bury_try()',
        find: 'attempts = greatest(x.attempts - 1, 0),',
        title: 'messages in hand together with one that kills lose no try and are suspected once',
      },
    },
  },
  'locked-rows-cost-one-connection': {
    'test/integration/inbox/idle-limit.test.ts': {
      'receive-without-limits': {
        file: 'outbox.write_receive_one()',
        find: `|| set_config('lock_timeout'::text, p_limit_ms::text, true) || set_config('statement_timeout'::text, p_limit_ms::text, true)`,
      },
      'join-without-limits': {
        file: 'src/store/inbox/tries.ts',
        find: 'from outbox.limit_transaction($6::integer, $7::integer)`,',
        replace: 'where $7::integer is not null`,',
      },
    },
  },
  'read-only-session-not-reused': {
    'test/integration/inbox/read-only.test.ts': {
      'read-only-session-is-kept': {
        file: 'src/inbox/inbox-transactions.ts',
        find: 'performance.now() < this.#doubtfulUntilMs',
        replace: 'performance.now() < 0',
      },
    },
  },
  'database-errors-cost-no-try': {
    'test/integration/inbox/faults.test.ts': {
      'faults-of-the-database-are-the-message': {
        file: 'src/inbox/handling/infrastructure-faults.ts',
        find: 'of layersOf(error)) {',
        replace: 'of layersOf(undefined)) {',
      },
    },
  },
  'slow-handlers-hold-no-epochs': {
    'test/integration/inbox/processed-keeper.test.ts': {
      'change-of-epochs-never-more-patient': {
        file: 'outbox.begin_epoch_change()',
        find: '* 2 ^ least(p_old.tries, 10)',
      },
      'change-of-epochs-at-every-look': {
        file: 'outbox.begin_epoch_change()',
        find: `if p_old.tried_at > clock_timestamp() - p_pause_ms * interval '1 ms' then return null; end if;`,
      },
    },
  },
  'acknowledged-after-settled': {
    'test/integration/inbox/consumer-life.test.ts': {
      'acknowledged-before-it-is-settled': {
        file: 'src/inbox/intake/settle-one.ts',
        find: `if (settled.kind !== 'done') return false;`,
        replace: `batch.acknowledge(message.incoming);
    if (settled.kind !== 'done') return false;`,
      },
      'batch-ends-before-its-receipts': {
        file: 'src/inbox/intake/message-intake.ts',
        find: 'await this.#context.receipts?.flush()',
        replace: 'void this.#context.receipts?.flush()',
      },
    },
  },
  'handled-only-if-committed': {
    'test/integration/inbox/caught-errors.test.ts': {
      'swallowed-error-counts-as-handled': {
        file: 'src/inbox/intake/applier.ts',
        find: 'else if (handled !== undefined && !client.checksCommits) await',
        replace: 'else if (handled !== undefined && client.checksCommits) await',
      },
      'failed-operations-unnoticed': {
        file: 'src/inbox/handling/swallowed-error.ts',
        find: 'this.#failed.count !== this.#before &&',
        replace: 'this.#failed.count < this.#before &&',
      },
      'commit-proved-outside-of-middlewares': {
        file: 'src/inbox/intake/applier.ts',
        find: 'handlers.run(ready, lost, work, () => this.#proved(doubt));',
        replace: `handlers.run(ready, lost, work);
    await this.#proved(doubt);`,
      },
    },
  },
  'outage-fails-no-message': {
    'test/unit/inbox/breaker.test.ts': {
      'parked-although-its-address-pauses': {
        file: 'src/inbox/handling/breaker.ts',
        find: `this.#prolong(address, health, health.pause);
    return true;`,
        replace: `this.#prolong(address, health, health.pause);
    return false;`,
      },
      'few-bad-keys-pause-their-address': {
        file: 'src/inbox/handling/breaker.ts',
        find: '|| 2 * failed <= health.failedByKey.size',
      },
    },
    'test/unit/inbox/intake-breaker.test.ts': {
      'probe-that-was-not-marked-keeps-its-turn': {
        file: 'src/inbox/handling/breaker.ts',
        find: `if (entry === 'probe') this.probeLeft(address);`,
      },
      'suspect-probe-is-another': {
        file: 'src/inbox/intake/steps.ts',
        find: 'await searchKiller({ ...round, messages: begun });',
        replace: 'await searchKiller(round);',
      },
    },
  },
};
