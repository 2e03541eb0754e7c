import { type Command, Option } from 'commander';
import { deliveryTable } from '../operations/delivery/delivery.ts';
import { optionTexts } from '../operations/descriptions.ts';
import { type GroupFlags, groupsOf } from './group-flags.ts';
import { loadConfig } from './load-config.ts';
import { migrateCommand } from './migrate-command.ts';
import { configOf, databaseAddress } from './operator-flags.ts';
import { run } from './output.ts';
import { addCommand, type CommonFlags, withDatabase } from './register.ts';
import { systemUser } from './system-user.ts';

interface MigrateFlags extends CommonFlags, GroupFlags {
  readonly print?: boolean;
  readonly check?: boolean;
  readonly topics?: boolean;
  readonly create?: boolean;
  readonly adopt?: boolean;
  readonly newInstallation?: boolean;
}

/** Commands for the schema of the database. */
export function registerSchemaCommands(root: Command): void {
  const command = withDatabase(addCommand(root, 'migrate', "apply the product's migrations"))
    .option('--print', 'print the SQL for your own migration tool, bookkeeping included, and change nothing')
    .option('--check', 'only check whether a migration is missing; exit code 1 if so')
    .addOption(
      new Option(
        '--topics',
        "also write the policies of the configuration's topics, and create the topic of receipts if a topic asks for them",
      ).conflicts(['print', 'check']),
    );
  withCreation(command)
    .addOption(
      new Option(
        '--adopt',
        `also ${deliveryTable.adopt.text}; locks the outbox while it is rewritten`,
      ).conflicts(['print', 'check']),
    )
    .addOption(
      new Option('--new-installation', `with --adopt: ${optionTexts.newInstallation}`).conflicts([
        'print',
        'check',
      ]),
    )
    .action(
      run<MigrateFlags>((flags, output) =>
        migrateCommand(
          {
            database: () => databaseAddress(flags),
            print: flags.print ?? false,
            check: flags.check ?? false,
            adopt:
              flags.adopt === true
                ? {
                    actor: systemUser(),
                    newInstallation: flags.newInstallation ?? false,
                  }
                : undefined,
            topics: flags.topics === true ? () => loadConfig(configOf(flags)) : undefined,
            create: flags.create ?? false,
            groups: groupsOf(flags),
          },
          output,
        ),
      ),
    );
}

/** What is created at brokers. */
function withCreation(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--create',
        'also write the policies, as --topics does, and create what brokers lack: topics, exchanges, with their defaults',
      )
        .conflicts(['print', 'check'])
        .implies({ topics: true }),
    )
    .addOption(
      new Option(
        '--group <names>',
        'also create, as --create does, what these consumer groups need: queues, groups',
      )
        .conflicts(['print', 'check'])
        .implies({ topics: true, create: true }),
    )
    .addOption(
      new Option(
        '--topic <names>',
        'with --group: only for these topics (default: all of the configuration)',
      ).conflicts(['print', 'check']),
    );
}
