/** The door of the command line: one file a command. It reads settings and the terminal; the work is the app's. */
import { parseArgs } from 'node:util';
import { createAccountCommand, createKeyCommand, ownerLinkCommand } from './access-commands.ts';
import { backupCommand, restoreCommand } from './backup-commands.ts';
import { demoCommand } from './demo.ts';
import { migrateStoreCommand } from './migrate-store.ts';
import { openapiCommand } from './openapi.ts';
import { serveCommand } from './serve.ts';

const USAGE = `relata: a product data service

  relata serve [--role api|worker|all]
                                    serve the data directory or, with RELATA_DATABASE_URL, PostgreSQL: requests,
                                    tasks, or both (settings: RELATA_*, see docs/operating.md)
  relata demo                       serve a demo catalog from a directory of its own
  relata account create NAME        make an account and its first key
  relata key create --scope account [--account NAME] [--name NAME]
                                    make an account-level key, e.g. when the last one is lost
  relata owner-link [--account NAME]
                                    show a link by which somebody becomes an owner, or comes back in
  relata backup DIR                 copy the data directory while the service runs
  relata restore DIR [--project N]  bring a backup back: everything into an empty data directory,
                                    or one project's catalog while the service runs
  relata migrate-store --from DIR --to postgres://… [--force]
                                    move everything to PostgreSQL, or back, while nothing is served;
                                    the same command goes on where it was interrupted
  relata openapi                    print the OpenAPI document
`;

/** @returns the exit code. Mistakes of the caller are one line on standard error, bugs keep their stack. */
export async function runCommand(args: readonly string[]): Promise<number> {
  const { positionals, values } = parse(args);
  const [command = 'help', ...rest] = positionals;
  try {
    return await dispatch(command, rest, values);
  } catch (error) {
    console.error(error instanceof Error && error.cause === undefined ? error.message : error);
    return 1;
  }
}

function parse(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      scope: { type: 'string' },
      account: { type: 'string' },
      name: { type: 'string' },
      project: { type: 'string' },
      role: { type: 'string' },
      from: { type: 'string' },
      to: { type: 'string' },
      force: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  });
}

type Values = ReturnType<typeof parse>['values'];

async function dispatch(command: string, rest: readonly string[], values: Values): Promise<number> {
  if (values.help || command === 'help') {
    console.log(USAGE);
    return 0;
  }
  const [first, second] = rest;
  switch (`${command}${['account', 'key'].includes(command) ? ` ${first}` : ''}`) {
    case 'serve':
      return serveCommand(values.role);
    case 'demo':
      return demoCommand();
    case 'openapi':
      return openapiCommand();
    case 'migrate-store':
      return migrateStoreCommand(values);
    case 'account create':
      return createAccountCommand(second);
    case 'key create':
      return createKeyCommand(values);
    case 'owner-link':
      return ownerLinkCommand(values);
    case 'backup':
      return backupCommand(first);
    case 'restore':
      return restoreCommand(first, values.project);
    default:
      console.error(`relata: no command ${[command, ...rest].join(' ')}\n\n${USAGE}`);
      return 2;
  }
}
