import { type Command, Option } from 'commander';
import { loadConfig } from './load-config.ts';
import { migrateCommand } from './migrate-command.ts';
import { addCommand, type CommonOptions, configOf, databaseAddress, run, withDatabase } from './register.ts';
import { systemUser } from './system-user.ts';

interface MigrateFlags extends CommonOptions {
  readonly print?: boolean;
  readonly check?: boolean;
  readonly topics?: boolean;
  readonly adopt?: boolean;
  readonly newInstallation?: boolean;
}

/** Commands about the schema of the database. */
export function registerSchemaCommands(root: Command): void {
  withDatabase(addCommand(root, 'migrate', "apply the product's migrations"))
    .option('--print', 'print the SQL for your own migration tool, bookkeeping included, and change nothing')
    .option('--check', 'tell whether something is missing and change nothing; exit code 1 if so')
    .addOption(
      new Option(
        '--topics',
        "also write the policies of the configuration's topics, and make the topic of receipts where one asks for them",
      ).conflicts(['print', 'check']),
    )
    .addOption(
      new Option(
        '--adopt',
        'also let relays deliver from a database that was restored from a dump; locks the outbox while it is rewritten',
      ).conflicts(['print', 'check']),
    )
    .addOption(
      new Option(
        '--new-installation',
        'with --adopt: the original lives on, so the copy gets an id of its own',
      ).conflicts(['print', 'check']),
    )
    .action(
      run<MigrateFlags>((options, output) =>
        migrateCommand(
          {
            database: () => databaseAddress(options),
            print: options.print ?? false,
            check: options.check ?? false,
            adopt:
              options.adopt === true
                ? {
                    actor: systemUser(),
                    newInstallation: options.newInstallation ?? false,
                  }
                : undefined,
            topics: options.topics === true ? () => loadConfig(configOf(options)) : undefined,
          },
          output,
        ),
      ),
    );
}
