/**
 * What is promised, in detail, by the tag that tests carry which show it; docs/promises.md says it to users. The runner knows these
 * tags (`--tags-filter no-loss`), planted bugs name the promise that they break, and `npm run generated` makes
 * docs/internal/proofs.md of both.
 */
export const promises = {
  'no-loss':
    '**No loss (I1).** What commits is delivered at least once, however often relay, broker, database or Temporal die. PostgreSQL and Kafka must keep what they acknowledged.',
  'no-ghost':
    '**No ghost (I2).** What rolls back is never sent, and what was stored twice under one id is one message.',
  'order-per-key':
    '**Order per key (I3).** Of two sends of one key, one that started after the other had committed is delivered after it, through retries, late commits and takeovers.',
  'expired-not-sent':
    '**An expired message is not sent.** What is not published before its expiry ends as `expired`, and blocks nothing.',
  'effect-once':
    "**Effect once (I4).** A consumer's writes and the processed id commit together, so a message has its effect once per group, whatever dies, freezes or repeats it, within the window of processed ids.",
  'window-kept':
    '**The window is kept (I12).** Within it an id is refused, whichever epochs begin, are dropped or rolled back. A message that arrives again after it has its effect again.',
  'fast-filter-loses-nothing':
    '**The fast filter loses nothing.** It only saves transactions: the database decides about ids that it does not know.',
  'waiting-key-blocks-no-other':
    '**A key that waits blocks no other.** A message that fails is parked, only its own key queues behind it, and the key continues in order.',
  'hot-key-leaves-parking':
    '**A hot key leaves parking while its traffic continues**, and its queue is bounded.',
  'parked-key-keeps-workflow':
    '**A parked key keeps its workflow while it waits for its turn, however many keys are parked.**',
  'key-of-killed-consumer-continues':
    '**A key that a killed consumer was trying continues within a second or so.**',
  'parked-tried-without-temporal':
    '**Parked messages are tried while Temporal is away**, when they are due and in order, by the consumers themselves. Whether a workflow or a consumer comes first, no key is tried twice at the same time.',
  'order-survives-parking':
    '**Order survives parking and retries (I3).** Messages that arrive while a key is drained follow its queue, and those that an operator retries come before later ones.',
  'unknown-messages-fill-no-table':
    '**Unknown messages fill no table** if a group asks for that: messages of unknown topics are skipped, and failed ones are deleted after a time.',
  'different-handlers-share-a-group':
    '**Consumers with different handlers may share a group.** Each partition goes to one that handles its topic. If a group leader other than this library decides otherwise, the consumer reports which topics no member reads.',
  'missing-topic-named':
    '**A missing topic is named at once**, and messages that the broker deleted unread are reported with position and count.',
  'silent-broker-shown':
    '**The health of a consumer shows a silent broker**, Kafka and Redis after three seconds, and that it answers again.',
  'read-as-kafkajs-reads':
    '**Records are read as kafkajs reads them**: keys, bodies, headers and times, gaps of compaction, control records and aborted transactions, and answers that are cut off; but of several producers that abort transactions at once nothing is handed over.',
  'every-codec-read':
    '**Every codec of Kafka is read.** A topic in gzip, Snappy, LZ4 or zstd is read like an uncompressed one, whether the producer or the broker compressed it.',
  'one-reader-of-a-redis-stream':
    '**A stream or list of Redis is read by one member of a group at a time**, so that keys keep their order. A reader that has lost the lease acknowledges no message that others have in hand.',
  'redis-stream-shared-without-order':
    '**Without order the members of a group share a stream of Redis.** What a member has in hand is with it alone while it lives, and with another soon after it has ended.',
  'redis-reads-what-arrives-in-time':
    '**A reader of Redis asks for no more than arrives in time.** After a late reply it asks for half as many messages, down to a single one, and by their size for about 8 MiB at once.',
  'redis-keeps-what-it-acknowledged':
    '**Redis keeps what it acknowledged as its settings say.** With `appendfsync always` a server that is killed has all of it; with `replicas`, that many replicas have it. `doctor` reports what a server may lose or delete.',
  'killing-message-fails':
    '**A message that kills its consumer is failed after three deaths**, parked or not, and costs other messages no try.',
  'replaced-try-does-nothing':
    '**A try that another one has replaced does nothing**, and one that is returned does not count.',
  'try-without-handler-does-not-count':
    '**A try by a consumer without the handler does not count.** A parked message waits for a consumer that handles its topic.',
  'hostile-messages-refused':
    '**Hostile messages are refused with a reason (F28)** or read as they are, and kept for a person; no error contains their values.',
  'dead-letters-copied':
    '**A failed message is copied to its address of dead letters**, at least once, if a consumer asks for that. A copy that the broker refuses delays no other.',
  'cancel-holds':
    '**A committed cancel holds (I5).** `canceled` and committed means never published; `too-late` means it was, or may have been. The exception is a relay that was frozen past its lease while it was sending. A cancel of a key and the settle of a batch do not deadlock, and one that comes too late holds up no settle.',
  'never-early': "**Never early (I6).** By the database's clock.",
  'repeating-messages':
    "**A repeating message** begins and ends with the commit of its transaction. Each time writes one message, or none: while the schedule is paused, later than it catches up, not of the rule of the row or before that holds, or with `overlap: 'skip'` while the previous one is to be sent.",
  'on-time': '**Lateness is bounded (I7).**',
  'last-due-time-wins': '**The last committed due time wins (I8).**',
  'only-legal-states': '**Only legal states (I9).** [states.md](../states.md) lists them.',
  'edit-happens-once':
    '**An edit happens once (I10).** Of two operators one succeeds, and the original is never sent again.',
  'inconclusive-may-be-stored':
    '**An inconclusive answer counts as possibly stored.** Only what Kafka checks before it appends says that a message is not in its log; with any other answer the message is sent again and can no longer be canceled.',
  'rabbitmq-unstored-is-unpublished':
    '**Messages that RabbitMQ has not stored do not count as published.** A message that no queue takes, or that a queue refuses, is tried again; a server that blocks its publishers, is away or forgets to answer costs no attempt. What another queue may have got, or was written to a connection that is blocked, can no longer be canceled (I5).',
  'rabbitmq-order-and-effects': '**Over RabbitMQ keys keep their order, and effects happen once.**',
  'rocketmq-unacknowledged-is-unpublished':
    '**Messages that a RocketMQ proxy has not acknowledged do not count as published.** A topic that is missing or of another type, and a proxy or broker that is away or silent, cost no attempt.',
  'rocketmq-order-and-effects':
    '**Over RocketMQ keys of FIFO topics keep their order, and effects happen once.** What handlers give back does not become a dead letter.',
  'wrong-clock-spends-no-attempts':
    '**A relay with a wrong clock spends no attempts.** Its messages wait in a hold that names the clock.',
  'duplicates-bounded':
    '**Duplicates are bounded (I11).** None without a fault; with one, at most what was in flight. Lanes that keep up commit asynchronously, so a crash of PostgreSQL, or a failover, also repeats what they have sent within the last three `wal_writer_delay`: 0.6 s by default, half a minute if it is 10 s, of which `doctor` warns. A partition with ambiguous answers rests between requests, for a minute at most.',
  'history-slows-nothing':
    '**Backlogs and history slow nothing down.** With millions of messages published, failed, waiting, blocked or parked, and with dead rows that an old snapshot keeps from being vacuumed, claim, look, sweep, release and receive cost what they cost in a small table.',
  'unblocked-key-continues':
    '**A key continues when what blocked it is over**, whatever ended it and however many other keys are blocked: at once if a message was canceled, withdrawn, retried, released, discarded, edited or confirmed, otherwise by turns, 500 keys a second per relay.',
  'batch-within-memory':
    '**A batch stays within its memory limit**: `batchBytes` bounds payloads and headers together, and a larger message goes alone.',
  'recovers-by-itself': '**It recovers by itself (I13).** A hold ends within two seconds of its cause.',
  'actions-audited':
    "**Every operator's action is audited (I14)**, in the transaction of the action, refusals included, and a bulk operation changes no message twice.",
  'expunged-is-gone':
    '**What is expunged is gone, and nothing else is**: from rows, archived ones too, and from no message that may still be sent.',
  'replay-once-in-order':
    '**A replay sends each message once, in the order of its key**, from the history and the live tables.',
  'restore-loses-nothing-unnoticed':
    '**A restore loses no effect unnoticed.** `verify --group` names what a group has passed and neither handled nor kept, and `inbox rewind` has the broker deliver it again.',
  'withdrawal-leaves-no-pause':
    '**A withdrawal leaves no topic paused**, also if its pause was not answered, or another topic cannot be resumed. The pause of an operator stays.',
  'set-back-clock-stops-no-bulk':
    '**A clock that was set back does not stop a bulk operation**, nor prolongs its patience with locked messages.',
  'set-back-clock-silences-nothing':
    '**A clock that was set back silences nothing** for as long as it was wrong: figures, alerts, looks at groups and changes of lanes go on at once.',
  'confirmed-was-processed':
    '**A confirmed message was processed**, and one whose receipt is lost is sent again without a second effect.',
  'failures-reported':
    '**Final failures are reported** by a relay at least once, with id, key and reason, and so is each failed try, even if the relay that settled it died before it could report it.',
  'on-failed-called-once':
    '**`onFailed` is called for each failed message**, and what it writes happens exactly once per failure.',
  'alert-hook-called-once':
    '**`onAlert` is called for each alert**, such as a group that stands still while messages wait for it, and what it writes happens exactly once when it begins and when it is over.',
  'alerts-told-once':
    '**Alerts are told once**, however many relays run, and when they are over; what is told delays nothing.',
  'archive-blocks-nothing': '**The archive blocks nothing**, and takes nothing that a claim still needs.',
  'one-bad-slows-no-other': '**One bad message, key or topic slows no other (I15).**',
  'thawed-process-does-no-harm':
    '**A frozen process does no harm when it thaws**, beyond the batch that it was sending.',
  'failover-costs-repeats-only':
    '**A failover costs repeats, never what commits after it (I1).** A primary that lacks the last commits of the previous one, or a server that lost some in a crash, delivers everything that it commits from then on. What was lost with the old primary is lost; what it had sent may be sent again, or be canceled although it was sent. Every crash loses some settles of the last 0.6 s, which are committed asynchronously: their messages are sent again.',
  'pooler-costs-speed-only': '**A pooler that shares connections costs speed only.**',
  'dead-relay-lanes-taken-over':
    '**The lanes of a dead relay are taken over at once.** Its database session ends with it, and other relays take its lanes in about a second, not only after the ten seconds of its lease.',
  'no-lane-stops':
    '**No lane stops because of a silently dead connection, a process frozen within a transaction, or a claim that takes longer than half a lease (I13).**',
  'hold-end-reported':
    '**The end of every reported hold is reported**, even if the lane changes its owner; the next owner reports that it continues it.',
  'hold-as-old-as-its-cause':
    '**A hold is as old as its cause**, whoever owns the lane meanwhile. It ends when an owner reaches the address, or when nothing of the lane waits any more; without a relay it stays until the next one. While its topic is paused, or nothing is due, it is not shown; while no relay runs, `status` and `show` say that instead.',
  'second-database-detected':
    '**Two running databases of one installation are detected.** A relay does not start on a clone while relays of its original run, and if both deliver in one namespace, relays, `status` and `verify` report it. A failover is not mistaken for it.',
  'locked-rows-cost-one-connection':
    '**Rows locked by others cost a consumer one connection per message in hand, no more.** A row that stays locked, or a statement that never ends, exhausts no pool and stops no other topic.',
  'outage-fails-no-message':
    '**An outage of a dependency fails no message.** While most keys of an address fail, none of its messages is parked and no try counts; then all are handled in order. A few bad messages pause nothing.',
  'read-only-session-not-reused':
    '**A session that may only read is not used again.** After a time in which its database was read-only, a consumer goes on by itself, whoever has the pool, and so do relays.',
  'handler-has-last-word':
    '**A handler has the last word about its message.** A message that it calls permanent is failed at once; one that it wants to try later is tried then, and not before.',
  'handler-may-throw-anything':
    '**A handler may throw anything, and its message is kept.** Neither a value without a text, nor an error that the database refuses to store, stops a partition.',
  'error-told-with-causes':
    '**An error is told with its causes**, each once, within bounds, and without users and passwords of URLs.',
  'secrets-stay-secret':
    '**Secrets stay secret**: no text of an error, told or stored, has a password, key or token that the process has read, although a server repeats it.',
  'retry-delays-apply-everywhere':
    '**The retry delays of a topic apply wherever its messages are tried**, and a consumer without a handler for it gives none up.',
  'handler-signal-fires':
    "**A handler's signal fires when its transaction is given up**, and a message given up because of its consumer loses no try.",
  'middlewares-wrap-transactions':
    '**Middlewares wrap every transaction of handlers**, and cannot turn a failure into a success.',
  'forgotten-promise-reported':
    '**A forgotten promise is reported.** It does not compile; in JavaScript the consumer reports it once per handler.',
  'database-errors-cost-no-try':
    '**Errors of the database cost no message a try.** That holds for a lost connection and an exhausted pool.',
  'slow-handlers-hold-no-epochs':
    '**Slow handlers do not keep processed ids forever**, and the change of epochs stalls consumers once a minute at most.',
  'acknowledged-after-settled':
    '**A message is acknowledged after it is settled**, and its receipt is sent before that.',
  'every-relay-delivers':
    '**Every live relay delivers.** No outage of Temporal stops a message, not even of relays that start while it is away: they drain lanes themselves, under the same lease, and return them to their workflows when it is back.',
  'start-waits-for-servers': '**A start waits for its servers**, reports that, and stops on request.',
  'written-consumer-stops-cleanly':
    '**The consumer that `init` writes stops cleanly on SIGTERM**, also while it waits for a server.',
  'unreachable-is-visible':
    '**An operator sees what is unreachable**: errors of connections name the server and never a password, and a lane with work is never called quiet.',
  'state-by-exit-code':
    '**A script learns the state by the exit code**: `status --fail-if` says which condition holds, with the figure, and a misspelt one is refused.',
  'pages-show-each-once':
    '**Pages of a list show every message once**, newest first, and each goes on where the one before ended.',
  'tail-omits-nothing-silently':
    '**`tail` leaves out no message without saying so**, and reads a bounded number of rows.',
  'log-has-one-schema':
    "**Every line of a relay's or API's log has one schema, on one stream**, with a line for each change of state.",
  'probes-restart-nothing':
    '**Probes restart no process for a server that is away**, and their answers show no text of an error.',
  'command-ends-with-its-server':
    '**A command ends when its server disappears silently**, and has no time limit while the server is working.',
  'stopped-elsewhere-is-shown':
    '**`status` shows what is stopped in other processes**: addresses paused by breakers of running consumers, without values of payloads and only until seconds after a consumer died, and transactions that have lanes locked. It does not wait for such locks.',
  'timeline-is-honest':
    '**A timeline says what became of a message, and what is not known**: in the outbox, at its broker and in its groups.',
  'consumers-visible':
    '**Running consumers are visible**: `status` of any process names each with its group, host, version and partitions, until it stops or 15 s after it died.',
  'closed-output-is-no-failure': '**Closing the output of a command early is not a failure.**',
  'http-effect-once':
    '**A message over HTTP has its effect once, and only with a valid signature**: `receive` commits its id with the effects. Success means committed.',
  'http-outage-spends-no-attempts':
    "**An outage of the receiver's database spends no attempts over HTTP**: `receive` answers 503 with Retry-After.",
  'http-reaches-no-private-address':
    '**HTTP reaches no private address that is not allowed**, in any notation, and whatever its name resolves to.',
  'workflow-started-once':
    '**A message starts your workflow once**, and a signal comes once to one run, while the namespace keeps it.',
  'hidden-names-stay-out':
    '**Hidden names stay out of Temporal.** For a topic with `visible: false`, neither key nor ref appears in a summary, a search attribute or a history.',
  'sql-refuses-the-same':
    '**SQL refuses what the library refuses**, with the same codes, and nothing is stored outside of a transaction.',
  'misspelled-topic-warned-of':
    '**A misspelled topic does not wait silently**: a process that sends to a topic that no relay has announced warns of it once, without an additional statement, and `status`, alerts and `doctor` name the topic while its messages wait.',
  'arguments-refused-at-the-border':
    '**Invalid arguments are refused where they are passed**, by a code, and the error says what to give instead.',
  'missing-outbox-reported':
    '**A database without the outbox is reported as such** by every call, over every client: `OUTBOX_MIGRATION_MISSING`. Errors of your own tables and functions stay as they are.',
  'missing-right-reported':
    '**A missing right to the outbox is reported as such** by every call, over every client, and by commands, relays and the HTTP API: `OUTBOX_PRIVILEGE_MISSING`.',
  'row-security-kept-off':
    '**The outbox keeps row level security off its tables**, also where the database gives it to every new one.',
  'row-security-named':
    '**Row level security on tables of the outbox is named**, not taken for an empty schema: `OUTBOX_ROW_SECURITY_ACTIVE`.',
  'tables-not-emptied-unnoticed':
    '**The tables of the outbox cannot be emptied unnoticed**: those without whose rows nothing is delivered refuse it.',
  'added-lanes-drained': '**Added lanes are drained at once**, by the running relays, without a restart.',
  'command-waits-for-start':
    '**A command waits for a PostgreSQL that is starting**: at most a minute while it reports that it is starting, five seconds without an answer. Then it names the server.',
  'abandoned-lanes-completed':
    "**A relay completes a change of lanes that its operator abandons**, in the operator's name, and the topic is delivered again.",
  'equal-partition-changes-done':
    '**Of two equal changes of partitions both are done**, and one that another has replaced is refused by name.',
  'autovacuum-delays-no-lanes':
    "**Autovacuum does not delay changes of lanes**, even if the relays' role may not see the processes of others. It waits for transactions of every role.",
  'own-transactions-lose-no-time':
    '**Transactions opened without `transaction` lose no time**: after `wake` a message leaves at once, without it at the next look.',
  'metrics-say-what-happened':
    "**Metrics say what has happened**: counts, durations, delays by the database's clock, and figures of the database, each once per interval by one relay. No attribute has a key, a ref or an id.",
  'rate-kept':
    '**A rate is kept.** In any time of its length relays hand at most its number of messages to the transport, over all relays, lanes and, if asked, topics of the address. Waiting for it spends no attempt, is no hold, keeps the lane, and ends at a pause, a stop or another rate.',
  'batch-fills-or-ends':
    "**A batch fills, or its time is over.** With `wait`, messages that do not fill a batch stay with the broker until the first of them has waited that long; they are in nobody's hand, each has its effect once, in order.",
  'pool-keeps-promises':
    '**A consumer with a pool keeps the promises of one with Prisma.** So does one with Prisma 8. Its transaction is rolled back at its limit, is closed to statements at its end, is never mistaken for committed after a rollback, and the end of a connection costs no try.',
  'recipes-work':
    '**The recipes of [transactions.md](../transactions.md) work as written**, and are refused outside of a transaction.',
  'handled-only-if-committed':
    '**A message is handled only if its transaction has committed.** A handler that catches the error of a statement fails its message: PostgreSQL rolls such a transaction back without an error.',
  'tests-skip-time':
    '**Tests can skip time and use a broker in memory.** Everything else is what runs in production.',
  'own-servers-per-project':
    '**Each project has its own development servers**, and a server that dies is named and ends the others.',
  'trace-leads-to-effect':
    '**A trace leads from the sender to the effect**, if an SDK of OpenTelemetry is set up: over a delay, a batch, a failed try and a parked retry. Without one no span is made and no header is added.',
  'api-shows-nothing-without-right':
    '**The HTTP API shows and does nothing without a right.** Nobody is anonymous, another topic does not exist, payloads are revealed to those who may read them, and what is changed or denied is in the audit.',
  'no-request-waits-forever':
    '**No request waits for a lock for ever**: the server ends its statements, also of operations that wait for relays.',
  'faces-describe-the-same':
    '**The help and the HTTP API describe the same operations**, and their options, in the same words.',
  'repeated-request-acts-once':
    '**A request that is repeated with its key acts once**, and its first answer is committed with what it did.',
  'callers-prove-themselves':
    '**Only who has proved it is a caller of the HTTP API.** What a provider says counts only if all of it is right, a session is known to its browser alone and ends everywhere at once, passwords cannot be tried out, and while somebody cannot be proved, nobody gets in.',
} as const satisfies Readonly<Record<string, string>>;

/** The tag of a promise. */
export type PromiseTag = keyof typeof promises;

declare module 'vitest' {
  interface TestTags {
    /** Other tags do not compile. */
    promise: PromiseTag;
    /** Of `vitest.config.ts`. */
    tier: 'apart';
  }
}
