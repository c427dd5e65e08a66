/** The door of the command line: one file a command. It reads settings and the terminal; the work is the app's. */
import { parseArgs } from 'node:util';
import { createAccountCommand, createKeyCommand, ownerLinkCommand } from './access-commands.ts';
import { backupCommand, restoreCommand } from './backup-commands.ts';
import { demoCommand } from './demo/demo.ts';
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

interface Command {
  /** As in the text above: its words in capitals are arguments, all needed, and its flags all that it takes. */
  readonly synopsis: string;
  run(places: readonly string[], flags: Flags): Promise<number>;
}

const COMMANDS: Readonly<Record<string, Command>> = {
  serve: { synopsis: '[--role api|worker|all]', run: (_, { role }) => serveCommand(role) },
  demo: { synopsis: '', run: demoCommand },
  'account create': { synopsis: 'NAME', run: ([name = '']) => createAccountCommand(name) },
  'key create': {
    synopsis: '--scope account [--account NAME] [--name NAME]',
    run: (_, flags) => createKeyCommand(flags),
  },
  'owner-link': { synopsis: '[--account NAME]', run: (_, flags) => ownerLinkCommand(flags) },
  backup: { synopsis: 'DIR', run: ([target = '']) => backupCommand(target) },
  restore: {
    synopsis: 'DIR [--project N]',
    run: ([source = ''], { project }) => restoreCommand(source, project),
  },
  'migrate-store': {
    synopsis: '--from DIR --to postgres://… [--force]',
    run: (_, flags) => migrateStoreCommand(flags),
  },
  openapi: { synopsis: '', run: openapiCommand },
};

const FLAGS = {
  scope: { type: 'string' },
  account: { type: 'string' },
  name: { type: 'string' },
  project: { type: 'string' },
  role: { type: 'string' },
  from: { type: 'string' },
  to: { type: 'string' },
  force: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

const parse = (args: readonly string[]) =>
  parseArgs({ args: [...args], allowPositionals: true, options: FLAGS });

type Flags = ReturnType<typeof parse>['values'];

/** Words that no command takes. */
class UsageError extends Error {}

/** @returns the exit code. Mistakes of the caller are one line on standard error, bugs keep their stack. */
export async function runCommand(args: readonly string[]): Promise<number> {
  try {
    return await dispatch(args);
  } catch (error) {
    console.error(error instanceof Error && error.cause === undefined ? error.message : error);
    return error instanceof UsageError ? 2 : 1;
  }
}

async function dispatch(args: readonly string[]): Promise<number> {
  const { positionals, values } = parseKnown(args);
  if (values.help || (positionals[0] ?? 'help') === 'help') {
    console.log(USAGE);
    return 0;
  }
  const name = [1, 2]
    .map((words) => positionals.slice(0, words).join(' '))
    .find((words) => Object.hasOwn(COMMANDS, words));
  const command = name === undefined ? undefined : COMMANDS[name];
  if (name === undefined || command === undefined) {
    throw new UsageError(`relata: no command ${positionals.join(' ')}; relata help lists all`);
  }
  const places = positionals.slice(name.split(' ').length);
  refuseUnknown(`relata ${name}`, command, { places, flags: Object.keys(values) });
  return command.run(places, values);
}

function parseKnown(args: readonly string[]) {
  try {
    return parse(args);
  } catch (error) {
    // e.g. "Unknown option '--port'. To specify …" or "Option '--name <value>' argument missing"
    const [what] = (error as Error).message.split(/\. |\n/);
    throw new UsageError(`relata: ${what}; relata help lists all commands`);
  }
}

function refuseUnknown(
  name: string,
  { synopsis }: Command,
  { places, flags }: { places: readonly string[]; flags: readonly string[] },
): void {
  const required = synopsis.match(/^[A-Z]+/) ?? [];
  const known = [...synopsis.matchAll(/--([a-z]+)/g)].map(([, flag]) => flag);
  const unknown = [
    ...places.slice(required.length),
    ...flags.filter((flag) => !known.includes(flag)).map((flag) => `--${flag}`),
  ];
  const isMissing = places.filter((place) => place !== '').length < required.length;
  if (unknown.length === 0 && !isMissing) return;
  const what = unknown.length > 0 ? `does not take ${unknown.join(' ')}` : `needs ${required}`;
  throw new UsageError(`${name} ${what}. Usage: ${`${name} ${synopsis}`.trim()}`);
}
