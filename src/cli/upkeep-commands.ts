import type { Command } from 'commander';
import { type Operations, operations } from '../app/operations/operations.ts';
import { verifyTable } from '../app/operations/verify-operations.ts';
import { requireDatabase } from '../config/config.ts';
import { startTimer } from '../core/timer.ts';
import { deliveryTable } from '../operations/delivery/delivery.ts';
import { optionTexts } from '../operations/descriptions.ts';
import { doctorCommand } from './doctor-command.ts';
import { type GroupFlags, groupsOf } from './group-flags.ts';
import { groupsCommand, type TidyFlags } from './groups-command.ts';
import { currentHost } from './host.ts';
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
  withConfig(addCommand(root, 'verify', `${verifyTable.verify.text}; exit code 5 if a promise is broken`))
    .option('--since <time>', `${optionTexts.since}: a duration such as 2h, or an ISO time`)
    .option('--grace <duration>', optionTexts.grace)
    .option('--tolerance <duration>', optionTexts.tolerance)
    .option('--max-transaction <duration>', optionTexts.maxTransaction)
    .option('--max-duplicates <share>', optionTexts.maxDuplicates)
    .option('--effects <file>', 'SQL that returns id and effects, the number of effects of a message')
    .option(
      '--group <name>',
      'a consumer group: whether it has handled what its offsets have passed, and of --effects its effects',
    )
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
  addOperatorCommand(root, 'lanes <topic> <count>', deliveryTable.changeLanes.text)
    .option('--timeout <duration>', `${optionTexts.waitForLanes} (default: 60s)`)
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
  addOperatorCommand(root, 'partitions <topic> <count>', deliveryTable.changePartitions.text)
    .option('--timeout <duration>', `${optionTexts.waitForPartitions} (default: 60s)`)
    .option('--group <names>', optionTexts.partitionGroups)
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
        // A connection that is being opened to a server that is away would keep the process alive for minutes.
        startTimer(() => currentHost().leave(code), 200).unref();
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
