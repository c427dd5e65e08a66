import { readFileSync, writeFileSync } from 'node:fs';
import { type Ontology, RelataError, type RelationDefinition } from '@relata/client';
import { type Connection, type ConnectionFlags, chooseProject, connect } from './connection.ts';
import { confirm, isInteractive, print } from './terminal.ts';
import { UsageError } from './usage-error.ts';

/** Relations and the ontology as files of a repository: exported, compared, applied. */

export interface DocumentFlags extends ConnectionFlags {
  readonly yes?: boolean;
}

/** What has a name in such a document, as it is compared. */
type Named = ReadonlyMap<string, unknown>;

interface Place {
  readonly connection: Connection;
  readonly projectId: number;
}

interface Read<Document> {
  readonly document: Document;
  /** Of this state: another one has another tag. */
  readonly tag: string | undefined;
}

interface DocumentKind<Document> {
  read(place: Place): Promise<Read<Document>>;
  /** @returns false for a state that has no longer this tag: nothing was applied */
  apply(place: Place, document: Document, tag: string | undefined): Promise<boolean>;
  /** @throws UsageError for what is no such document */
  check(document: unknown): Document;
  list(document: Document): Named;
}

type Relations = { readonly relations: readonly (RelationDefinition & { readonly id?: number })[] };

const RELATIONS: DocumentKind<Relations> = {
  read: readRelations,
  // The import takes no If-Match: read again, a change can hide for a moment only, not as long as somebody is asked.
  apply: async (place, { relations }, tag) => {
    if ((await readRelations(place)).tag !== tag) return false;
    await place.connection.relata.relations.import(place.projectId, relations);
    return true;
  },
  check: (document) => checkList<Relations>(document, 'relations'),
  list: ({ relations }) =>
    new Map(relations.map((one) => [`${one.name} [${one.tag}]`, { ...DEFAULTS, ...definitionOf(one) }])),
};

/** Without ids and states, which are those of one project; a file is for several. */
async function readRelations({ connection: { relata }, projectId }: Place): Promise<Read<Relations>> {
  const relations = (await relata.relations.export(projectId)).relations.map(definitionOf);
  return { document: { relations }, tag: JSON.stringify(relations) };
}

/** Source: docs/interface.md §12.1. */
const DEFAULTS = { kind: 'rule', twoWay: false, enabled: true, excludeSameGroup: true };

const DEFINITION = [
  ...['kind', 'name', 'tag', 'description', 'twoWay', 'enabled', 'source', 'target', 'match', 'sort'],
  ...['names', 'excludeSameGroup'],
];

function definitionOf(relation: object): RelationDefinition {
  const members = Object.entries(relation).filter(([name]) => DEFINITION.includes(name));
  return Object.fromEntries(members) as RelationDefinition;
}

const ONTOLOGY: DocumentKind<Ontology> = {
  read: async ({ connection: { relata }, projectId }) => {
    const { value, etag } = await relata.ontology.get(projectId);
    const attributes = value.attributes.map(({ id: _, ...attribute }) => attribute);
    return { document: { ...value, attributes }, tag: etag };
  },
  apply: async ({ connection: { relata }, projectId }, document, tag) => {
    try {
      await relata.ontology.put(projectId, document, tag === undefined ? {} : { ifMatch: tag });
      return true;
    } catch (error) {
      if (error instanceof RelataError && error.status === 412) return false;
      throw error;
    }
  },
  check: (document) => checkList<Ontology>(document, 'attributes'),
  list: ({ attributes, ...others }) =>
    new Map<string, unknown>([
      ...Object.entries(others),
      ...attributes.map(({ id: _, reason: __, ...one }) => [one.name, one] as const),
    ]),
};

function checkList<Document>(document: unknown, member: string): Document {
  const list = (document as Record<string, unknown> | null)?.[member];
  if (Array.isArray(list)) return document as Document;
  throw new UsageError(`the file must hold {"${member}":[…]}, as its export does`);
}

export type DocumentName = 'relations' | 'ontology';
const KINDS: Readonly<Record<DocumentName, DocumentKind<unknown>>> = {
  relations: RELATIONS,
  ontology: ONTOLOGY,
};

/** `relata relations export FILE`; `-` is standard output. */
export async function exportDocument(
  name: DocumentName,
  file: string,
  flags: DocumentFlags,
): Promise<number> {
  const connection = connect(flags);
  const projectId = await chooseProject(connection);
  const { document } = await KINDS[name].read({ connection, projectId });
  const text = `${JSON.stringify(document, null, 2)}\n`;
  if (file === '-') process.stdout.write(text);
  else writeFileSync(file, text);
  return 0;
}

interface Plan {
  readonly created: string[];
  readonly changed: string[];
  readonly deleted: string[];
}

/** `relata relations plan FILE`: what apply would do. @returns 1 where there is a difference */
export async function planDocument(name: DocumentName, file: string, flags: DocumentFlags): Promise<number> {
  const { plan } = await prepare(name, file, flags);
  if (flags.json) print(plan);
  else describePlan(plan);
  return countOf(plan) > 0 ? 1 : 0;
}

/** `relata relations apply FILE`: the file becomes the whole list. */
export async function applyDocument(name: DocumentName, file: string, flags: DocumentFlags): Promise<number> {
  const { plan, apply } = await prepare(name, file, flags);
  if (!flags.json) describePlan(plan);
  const isWanted =
    countOf(plan) === 0 || flags.yes || !isInteractive() || (await confirm(`Apply this to the ${name}?`));
  if (!isWanted) {
    console.error('Nothing was applied.');
    return 1;
  }
  if (countOf(plan) > 0 && !(await apply())) {
    console.error(`Nothing was applied, the ${name} changed meanwhile: run relata ${name} plan again.`);
    return 1;
  }
  if (flags.json) print(plan);
  return 0;
}

async function prepare(name: DocumentName, file: string, flags: DocumentFlags) {
  const kind = KINDS[name];
  const document = kind.check(readJson(file));
  const connection = connect(flags);
  const place = { connection, projectId: await chooseProject(connection) };
  const present = await kind.read(place);
  const plan = compare(kind.list(present.document), kind.list(document));
  return { plan, apply: () => kind.apply(place, document, present.tag) };
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file === '-' ? 0 : file, 'utf8'));
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${(error as Error).message}`);
  }
}

function compare(present: Named, wanted: Named): Plan {
  const names = [...wanted.keys()];
  return {
    created: names.filter((name) => !present.has(name)),
    changed: names.filter(
      (name) => present.has(name) && write(present.get(name)) !== write(wanted.get(name)),
    ),
    deleted: [...present.keys()].filter((name) => !wanted.has(name)),
  };
}

/** Members in one order; what is left out is what it is by default. */
function write(value: unknown): string {
  return JSON.stringify(value, (_, one) =>
    typeof one === 'object' && one !== null && !Array.isArray(one)
      ? Object.fromEntries(
          Object.entries(one)
            .filter(
              ([, member]) =>
                member !== null && member !== '' && !(Array.isArray(member) && member.length === 0),
            )
            .sort(([a], [b]) => (a < b ? -1 : 1)),
        )
      : one,
  );
}

const countOf = ({ created, changed, deleted }: Plan) => created.length + changed.length + deleted.length;

function describePlan(plan: Plan): void {
  for (const name of plan.created) console.log(`+ ${name}`);
  for (const name of plan.changed) console.log(`~ ${name}`);
  for (const name of plan.deleted) console.log(`- ${name}`);
  if (countOf(plan) === 0) console.log('no difference');
}
