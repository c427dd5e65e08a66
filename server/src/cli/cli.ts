/** The door of the command line. It reads settings and the terminal, and calls the app or a remote service. */
import { readFile } from 'node:fs/promises';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import manifest from '../../package.json' with { type: 'json' };
import type { Role } from '../app/app.ts';
import type { ConnectionFlags, DocumentName } from './feed/feed.ts';

/** @returns the exit code: 0 success, 1 refused, declined or failed, 2 wrong usage, 3 service unreachable */
export async function runCommand(args: readonly string[]): Promise<number> {
  let code = 0;
  const act: Act =
    (work) =>
    async (...given) => {
      code = await work(...given);
    };
  try {
    await buildProgram(act).parseAsync([...args], { from: 'user' });
    return code;
  } catch (error) {
    return describe(error);
  }
}

/** Prints usage errors as one line on standard error, and bugs with their stack. */
async function describe(error: unknown): Promise<number> {
  // Commander has already printed it.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (!(error instanceof Error)) throw error;
  if (['RelataError', 'TaskError', 'UnreachableError', 'UsageError'].includes(error.name)) {
    const { describeFailure } = await loadFeed();
    const { code, lines } = describeFailure(error);
    for (const line of lines) console.error(line);
    return code;
  }
  console.error(error.cause === undefined ? error.message : error);
  return 1;
}

// Modules are loaded when one of their commands runs. All of them would take 70 MiB in a command that feeds a service.
const loadFeed = () => import('./feed/feed.ts');
const loadAccess = () => import('./access-commands.ts');
const UNAUTHENTICATED =
  'accept objects of an earlier version or without a key, which RELATA_BACKUP_KEY does not authenticate';
const loadBackup = () => import('./backup-commands.ts');

type Act = <Given extends unknown[]>(
  work: (...given: Given) => Promise<number>,
) => (...given: Given) => Promise<void>;

/** Defines every command with its arguments and flags. */
export function buildProgram(act: Act): Command {
  const program = new Command('relata')
    .description('A product data service for catalogs and related products.')
    .exitOverride()
    .configureOutput({ writeErr: (text) => console.error(text.trimEnd()) })
    .showHelpAfterError('(run relata help COMMAND for details)')
    .version(manifest.version, '--version', 'print the version')
    .helpCommand(false)
    .allowExcessArguments(false);
  program.commandsGroup('Run a service:');
  addService(program, act);
  program.commandsGroup('Feed a service, from anywhere:');
  addFeed(program, act);
  program.commandsGroup('Help:');
  program
    .command('help [COMMAND...]')
    .description('show the arguments and flags of a command')
    .action((names: string[]) => findCommand(program, names).help());
  addExamples(program);
  return program;
}

function findCommand(program: Command, names: readonly string[]): Command {
  return names.reduce((parent, name) => {
    const subcommand = parent.commands.find((command) => command.name() === name);
    return subcommand ?? parent.error(`error: unknown command '${name}'`);
  }, program);
}

function addExamples(command: Command, path = ''): void {
  const lines = EXAMPLES[path.trim()] ?? [];
  const title = lines.length > 1 ? 'Examples' : 'Example';
  if (lines.length > 0)
    command.addHelpText('after', `\n${title}:\n${lines.map((line) => `  relata ${line}`).join('\n')}`);
  for (const each of command.commands) addExamples(each, `${path} ${each.name()}`);
}

/** @returns a parser that checks the number of a flag and returns it as text */
const countTo = (max: number) => (text: string) => {
  if (/^[1-9]\d{0,14}$/.test(text) && Number(text) <= max) return text;
  throw new InvalidArgumentError(`It must be a number from 1 to ${max.toLocaleString('en')}.`);
};

/** The maximum number of products in a body. Source: docs/interface §8. */
const BATCH_PRODUCTS = 10_000;

const ROLES = ['api', 'worker', 'all'] satisfies Role[];

function addService(program: Command, act: Act): void {
  program
    .command('serve')
    .description(
      'serve the data directory or, with RELATA_DATABASE_URL, PostgreSQL (settings: docs/operating/settings.md)',
    )
    .addOption(
      new Option('--role <ROLE>', 'api serves requests, worker runs tasks, all does both (default)').choices(
        ROLES,
      ),
    )
    .option('--standby <URL>', 'follow the continuous backup of another service, and serve reads')
    .action(act(async (flags) => (await import('./serve.ts')).serveCommand(flags)));
  program
    .command('demo')
    .description('serve a demo catalog from a temporary directory')
    .action(act(async () => (await import('./demo/demo.ts')).demoCommand()));
  program
    .command('account')
    .description('create an account and its first key')
    .command('create <NAME>')
    .description('create an account and its first key')
    .action(act(async (name) => (await loadAccess()).createAccountCommand(name)));
  program
    .command('key')
    .description('create a key of account scope, for example after the last one was lost')
    .command('create')
    .description('create a key of account scope, for example after the last one was lost')
    .addOption(
      new Option('--scope <SCOPE>', 'account; create keys of other scopes in the console')
        .choices(['account'])
        .makeOptionMandatory(),
    )
    .option('--account <NAME>', 'the account; needed if there are several')
    .option('--name <NAME>', 'the name of the key')
    .action(act(async (flags) => (await loadAccess()).createKeyCommand(flags)));
  program
    .command('owner-link')
    .description('show a link to become an owner, or to replace the lost password of an owner')
    .option('--account <NAME>', 'the account; needed if there are several')
    .action(act(async (flags) => (await loadAccess()).ownerLinkCommand(flags)));
  addBackups(program, act);
  addStoreMoves(program, act);
  program
    .command('doctor')
    .description('find problems of this installation and their remedies, without changing anything')
    .option('--json', 'print JSON instead of text')
    .action(act(async (flags) => (await import('./doctor.ts')).doctorCommand(flags)));
  const openapi = program.command('openapi').description('print the OpenAPI document');
  openapi.action(async () => {
    process.stdout.write(await readFile(new URL('../../../docs/openapi.json', import.meta.url)));
  });
}

function addBackups(program: Command, act: Act): void {
  program
    .command('backup <DIR>')
    .description('copy the data directory while the service runs')
    .action(act(async (target) => (await loadBackup()).backupCommand(target)));
  program
    .command('restore <DIR>')
    .description('restore a backup into an empty data directory')
    .option(
      '--project <ID>',
      'restore only the catalog of this project, while the service runs',
      countTo(Number.MAX_SAFE_INTEGER),
    )
    .option('--without-manifest', 'accept a backup of an earlier version, which has no manifest')
    .option('--from <URL>', 'restore a continuous backup (file:///… or s3://…) to the data directory DIR')
    .option('--at <INSTANT>', 'with --from: the instant, such as 2026-11-23T10:15:00Z (default: the last)')
    .option('--unauthenticated', UNAUTHENTICATED)
    .action(
      act(async (source, flags) => {
        const commands = await loadBackup();
        return flags.from === undefined
          ? commands.restoreCommand(source, flags)
          : commands.restoreTimelineCommand(source, flags);
      }),
    );
  program
    .command('promote')
    .description('make a standby, or a restored data directory, the writer of its backup')
    .option('--data-dir <DIR>', 'the data directory (RELATA_DATA_DIR)')
    .action(act(async (flags) => (await loadBackup()).promoteCommand(flags)));
  program
    .command('backups <URL>')
    .description('list the instants that a continuous backup can restore')
    .option('--verify', 'read and check all objects')
    .option('--unauthenticated', UNAUTHENTICATED)
    .option('--json', 'print JSON instead of text')
    .action(act(async (url, flags) => (await loadBackup()).backupsCommand(url, flags)));
  program
    .command('verify <DIR>')
    .description('check whether a backup can be restored, without restoring it')
    .option('--without-manifest', 'accept a backup of an earlier version, which has no manifest')
    .action(act(async (source, flags) => (await loadBackup()).verifyCommand(source, flags)));
}

/** Adds the commands that change whole stores while no process serves them. */
function addStoreMoves(program: Command, act: Act): void {
  program
    .command('migrate-store')
    .description(
      'move a whole store to PostgreSQL, or back, while neither is served; resumes an interrupted move',
    )
    .requiredOption('--from <STORE>', 'a data directory or postgres://…')
    .requiredOption('--to <STORE>', 'postgres://… or a data directory')
    .option('--force', 'do not check for processes that use PostgreSQL, for example right after a crash')
    .action(act(async (flags) => (await loadBackup()).migrateStoreCommand(flags)));
  program
    .command('distribute')
    .description('distribute the projects of PostgreSQL over the workers of Citus, while it is not served')
    .option(
      '--shards <COUNT>',
      'the number of shards for the projects; it cannot be changed later',
      countTo(1_000),
      '32',
    )
    .option('--dry-run', 'print the statements without running them')
    .action(act(async (flags) => (await loadBackup()).distributeCommand(flags)));
}

/** @returns a command that calls a service, with the flags of the connection */
function connected(parent: Command, name: string, description: string): Command {
  return parent
    .command(name)
    .description(description)
    .option('--url <URL>', 'the address of the service (RELATA_URL)')
    .option('--key <KEY>', 'the API key (RELATA_API_KEY); other users of this machine may see this flag')
    .option('--project <ID>', 'the project (RELATA_PROJECT); needed if the key reaches several')
    .option('--profile <NAME>', 'a profile that relata login has stored')
    .option('--json', 'print JSON instead of text');
}

function addFeed(program: Command, act: Act): void {
  connected(program, 'login', 'store the address of a service and a key').action(
    act(async (flags) => (await loadFeed()).login(flags)),
  );
  addPush(program, act);
  addCatalogs(program, act);
  addQuestions(program, act);
  addDocuments(program, act, 'relations');
  addDocuments(program, act, 'ontology');
}

function addPush(program: Command, act: Act): void {
  connected(
    program,
    'push <FILE...>',
    'send files of products (JSON, one product per line or a list; - means standard input)',
  )
    .option('--full', 'the files are the whole catalog; all other products are deleted')
    .option('--incremental', 'add and replace products (default)')
    .option('--partial', 'change only the attributes and fields in the files')
    .option('--preview', 'with --full: show what a commit would change, without committing')
    .option('--yes', 'do not ask for confirmation')
    .addOption(
      new Option(
        '--on-invalid <WORD>',
        'refuse requests with invalid products, or skip these products',
      ).choices(['refuse', 'skip']),
    )
    .option(
      '--allow-deletes <COUNT>',
      'with --full: the exact number of products to delete despite the delete guard',
      countTo(Number.MAX_SAFE_INTEGER),
    )
    .option(
      '--batch <COUNT>',
      'the number of products in a batch, up to 10,000',
      countTo(BATCH_PRODUCTS),
      String(BATCH_PRODUCTS),
    )
    .option('--resume', 'resume an interrupted push of these files')
    .action(act(async (files, flags) => (await loadFeed()).push(files, flags)));
}

/** Adds the commands that compare, read and delete products of the catalog. */
function addCatalogs(program: Command, act: Act): void {
  connected(program, 'diff <FILE...>', 'show what a full update of these files would change').action(
    act(async (files, flags) => (await loadFeed()).diff(files, flags)),
  );
  connected(program, 'pull', 'write the catalog, one product per line')
    .option('-o, --output <FILE>', 'the file, packed if it ends with .gz; - means standard output (default)')
    .action(act(async (flags) => (await loadFeed()).pull(flags)));
  connected(program, 'delete <ID...>', 'delete products')
    .option('--yes', 'do not ask for confirmation')
    .action(act(async (identifiers, flags) => (await loadFeed()).remove(identifiers, flags)));
}

/** Adds the commands that show answers of the service. */
function addQuestions(program: Command, act: Act): void {
  connected(program, 'lookup <ID...>', 'show products with their facts').action(
    act(async (identifiers, flags) => (await loadFeed()).lookUp(identifiers, flags)),
  );
  connected(program, 'related <ID>', 'show the related products of a product, with the reasons')
    .option(
      '--limit <COUNT>',
      'the number of product groups of each relation and direction',
      countTo(100),
      '10',
    )
    .action(act(async (identifier, flags) => (await loadFeed()).related(identifier, flags)));
  connected(program, 'fit', 'check whether products can be used together, with the reasons')
    .argument('<ID...>', 'an identifier that occurs twice counts as two products')
    .action(act(async (identifiers, flags) => (await loadFeed()).fit(identifiers, flags)));
  connected(program, 'tasks', 'show the latest tasks')
    .option('--follow', 'also show each change, until the command is stopped')
    .option('--limit <COUNT>', 'the number of tasks', countTo(1_000), '20')
    .action(act(async (flags) => (await loadFeed()).tasks(flags)));
}

function addDocuments(program: Command, act: Act, name: DocumentName): void {
  const parent = program
    .command(name)
    .description(`export the ${name} to a file, compare them, and apply the file`);
  type Work = (file: string, flags: ConnectionFlags) => Promise<number>;
  const add = (verb: string, description: string, work: Work) =>
    connected(parent, verb, description)
      .argument('<FILE>', `- means standard ${verb === 'export' ? 'output' : 'input'}`)
      .action(act(work));
  const document = async () => (await loadFeed()).documentCommands(name);
  add('export', 'write the file', async (...given) => (await document()).export(...given));
  add('plan', 'show what apply would change', async (...given) => (await document()).plan(...given));
  const apply = add('apply', `replace the ${name} by the file`, async (...given) =>
    (await document()).apply(...given),
  );
  apply.option('--yes', 'do not ask for confirmation');
}

/** The examples in the help of each command. They show all flags of the command except those that skip a check. */
const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  '': ['demo', 'serve', 'push --full catalog.ndjson.gz', 'help push', '--version'],
  serve: ['serve', 'serve --role worker', 'serve --standby s3://company-backup/relata'],
  demo: ['demo'],
  'account create': ['account create "Second shop"'],
  'key create': ['key create --scope account --account "Second shop" --name "Nightly import"'],
  'owner-link': ['owner-link', 'owner-link --account "Second shop"'],
  backup: ['backup /backup/2026-11-22'],
  restore: [
    'restore /backup/2026-11-22',
    'restore /backup/2026-11-22 --project 3',
    'restore /backup/2025-01-31 --without-manifest',
    'restore --from s3://company-backup/relata --at 2026-11-23T10:15:00Z /var/lib/relata',
    'restore --from file:///mnt/backup/earlier --unauthenticated /var/lib/relata',
  ],
  verify: ['verify /backup/2026-11-22', 'verify /backup/2025-01-31 --without-manifest'],
  backups: [
    'backups s3://company-backup/relata --verify',
    'backups file:///mnt/backup/relata --json',
    'backups file:///mnt/backup/earlier --verify --unauthenticated',
  ],
  promote: ['promote --data-dir /var/lib/relata'],
  'migrate-store': [
    'migrate-store --from ./data --to postgres://relata@localhost/relata',
    'migrate-store --from postgres://relata@localhost/relata --to ./data',
  ],
  distribute: ['distribute --dry-run', 'distribute --shards 64'],
  doctor: ['doctor', 'doctor --json'],
  openapi: ['openapi > openapi.json'],
  help: ['help push', 'help relations apply'],
  login: [
    'login --url https://relata.example.com',
    'login --url https://test.example.com --key rk_… --profile test --json',
  ],
  push: [
    'push --incremental new.ndjson',
    'push --partial --on-invalid skip prices.json --project 3',
    'push --full --preview catalog.ndjson.gz',
    'push --full --yes --resume --batch 5000 --allow-deletes 812 catalog.ndjson.gz',
    'pull --profile test | relata push --full -',
  ],
  diff: ['diff catalog.ndjson.gz', 'diff --json part-1.ndjson part-2.ndjson'],
  pull: ['pull --output catalog.ndjson.gz', 'pull | head'],
  delete: ['delete A1 A2', 'delete --yes A1'],
  lookup: ['lookup A1 A2', 'lookup --json A1'],
  related: ['related A1', 'related --limit 3 A1'],
  fit: ['fit A1 B2 C3', 'fit --json A1 B2 B2'],
  tasks: ['tasks --limit 50', 'tasks --follow'],
  'relations export': ['relations export relations.json'],
  'relations plan': ['relations plan relations.json'],
  'relations apply': ['relations apply --yes relations.json'],
  'ontology export': ['ontology export ontology.json'],
  'ontology plan': ['ontology plan ontology.json'],
  'ontology apply': ['ontology apply --yes ontology.json'],
};
