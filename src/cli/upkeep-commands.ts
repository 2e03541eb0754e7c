import type { Command } from 'commander';
import { type Operations, operations } from '../app/operations/operations.ts';
import { requireDatabase } from '../config/config.ts';
import { doctorCommand } from './doctor-command.ts';
import { type GroupFlags, groupsOf } from './group-flags.ts';
import { groupsCommand, type TidyFlags } from './groups-command.ts';
import { type CountFlags, countCommand } from './lanes-command.ts';
import { loadConfig } from './load-config.ts';
import { configOf, databaseAddress } from './operator-flags.ts';
import { run } from './output.ts';
import { addCommand, addOperatorCommand, type CommonFlags, withConfig } from './register.ts';
import { type VerifyFlags, verifyCommand } from './verify-command.ts';

/** Commands for a whole installation. */
export function registerUpkeepCommands(root: Command): void {
  registerDoctor(root);
  registerGroups(root);
  withConfig(
    addCommand(root, 'verify', 'compare messages, logs and effects; exit code 5 if a promise is broken'),
  )
    .option('--since <time>', 'check only newer messages: a duration such as 2h, or an ISO time')
    .option('--grace <duration>', 'how long a message may be due before it is late (default: 60s)')
    .option('--tolerance <duration>', 'how far the clocks of log and database may differ (default: 5s)')
    .option(
      '--max-transaction <duration>',
      'longest time that a sending transaction stays open (default: 60s)',
    )
    .option('--max-duplicates <share>', 'allowed share of duplicates, 0 to 1 (default: any)')
    .option('--effects <file>', 'SQL that returns id and effects, the number of effects of a message')
    .option('--group <name>', 'the consumer group of these effects')
    .option('--inbox <url>', 'database of the effects and processed ids (default: the same)')
    .action(
      run<VerifyFlags>(async (flags, output) =>
        verifyCommand(
          requireDatabase(await loadConfig(configOf(flags)), 'The command verify'),
          flags,
          output,
        ),
      ),
    );
  addOperatorCommand(root, 'lanes <topic> <count>', 'change the number of lanes of a topic')
    .option('--timeout <duration>', 'how long to wait for relays and open transactions (default: 60s)')
    .action(
      run<CountFlags>((flags, output, [topic, count]) =>
        countCommand(
          { what: 'lanes', topic, count },
          flags,
          output,
          () => byDatabase(flags),
          (at, ...rest) => at.changeLanes(...rest),
        ),
      ),
    );
  addOperatorCommand(root, 'partitions <topic> <count>', 'place keys by another number of partitions')
    .option('--timeout <duration>', 'how long to wait for relays and consumers (default: 60s)')
    .option(
      '--group <names>',
      'consumer groups whose order is kept: wait until they have passed all messages',
    )
    .action(
      run<CountFlags>((flags, output, [topic, count]) =>
        countCommand(
          { what: 'partitions', topic, count },
          flags,
          output,
          () => byConfig(flags),
          (at, name, n, options) =>
            at.changePartitions(name, n, { ...options, groups: flags.group?.split(',') ?? [] }),
        ),
      ),
    );
}

function registerDoctor(root: Command): void {
  withConfig(
    addCommand(
      root,
      'doctor',
      'examine every server of the configuration; exit code 1 if a promise is at risk or something does not work',
    ),
  )
    .option('--group <names>', 'also examine what these consumer groups need: queues, groups')
    .option('--topic <names>', 'with --group: only for these topics (default: all of the configuration)')
    .action(
      run<CommonFlags & GroupFlags>(async (flags, output) => {
        const groups = groupsOf(flags);
        const code = await doctorCommand(await loadConfig(configOf(flags)), output, { groups });
        // oxlint-disable-next-line unicorn/no-process-exit -- a connection that is being opened to a server that is away would keep the process alive for minutes
        setTimeout(() => process.exit(code), 200).unref();
        return code;
      }),
    );
}

function registerGroups(root: Command): void {
  withConfig(
    addCommand(
      root,
      'groups',
      'show the groups that brokers keep until they are removed, as Redis streams do, and who uses them; changes nothing without --remove',
    ),
  )
    .option('--topic <names>', 'only groups of these topics (default: all of the configuration)')
    .option('--group <names>', 'only these groups')
    .option(
      '--unused-for <duration>',
      'a consumer that has asked for nothing for so long is gone (default: 7d)',
    )
    .option('--remove', 'remove unused groups, and in others the consumers that are gone and hold no message')
    .option('--force', 'with --remove and --group: whatever these groups hold, and whoever uses them')
    .action(
      run<TidyFlags>(async (flags, output) =>
        groupsCommand(await loadConfig(configOf(flags)), flags, output),
      ),
    );
}

async function byDatabase(flags: CountFlags): Promise<Operations> {
  return operations({ database: await databaseAddress(flags) });
}

/** Opens the operations with the configuration, which is needed to query the broker. */
async function byConfig(flags: CountFlags): Promise<Operations> {
  const config = await loadConfig(configOf(flags));
  return operations({ ...config, database: await databaseAddress(flags) });
}
