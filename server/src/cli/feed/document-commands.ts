import { readFileSync, writeFileSync } from 'node:fs';
import {
  type Ontology,
  RelataError,
  type RelationDefinition,
  type ValueTableDefinition,
} from '@relata/client';
import { type Recognisable, recognise } from '../../kernel/recognise.ts';
import { type Connection, type ConnectionFlags, chooseProject, connect, UsageError } from './connection.ts';
import { confirm, isInteractive, print } from './terminal.ts';

/** Exports, compares and applies relations and the ontology as files. */

export interface DocumentFlags extends ConnectionFlags {
  readonly yes?: boolean;
}

/** A part of a document in the form for the comparison. */
interface Part extends Recognisable {
  /** The text in the output. */
  readonly label: string;
  readonly value: unknown;
  /** Whether the part stays unchanged if the file does not have it. */
  readonly stays?: true;
}

interface ConnectedProject {
  readonly connection: Connection;
  readonly projectId: number;
}

interface Read<Document> {
  /** The document with the ids of its project. */
  readonly document: Document;
  /** A tag that identifies this state of the document. */
  readonly tag: string | undefined;
}

interface DocumentKind<Document> {
  read(project: ConnectedProject): Promise<Read<Document>>;
  /** Applies nothing if the document has changed since it was read. @returns false in that case */
  apply(project: ConnectedProject, document: Document, tag: string | undefined): Promise<boolean>;
  /** The name of the list in the document. */
  readonly member: string;
  list(document: Document): readonly Part[];
  /** @returns the document without ids, because an exported file can be applied to other projects */
  share(document: Document): Document;
}

interface Relations {
  readonly relations: readonly (RelationDefinition & { readonly id?: number })[];
  /** The value tables that the relations name. */
  readonly tables?: readonly ValueTableDefinition[];
}

const RELATIONS: DocumentKind<Relations> = {
  read: readRelations,
  // The import does not support If-Match. A second read detects changes that were made while the user was asked.
  apply: async (project, { relations, tables }, tag) => {
    if ((await readRelations(project)).tag !== tag) return false;
    await project.connection.relata.relations.import(project.projectId, relations, { tables });
    return true;
  },
  member: 'relations',
  list: ({ relations, tables = [] }) => [...tables.map(partOfTable), ...relations.map(partOf)],
  share: ({ relations, tables }) => ({
    ...(tables && { tables: tables.map(({ createdAt: _, updatedAt: __, ...table }) => table) }),
    relations: relations.map(definitionOf),
  }),
};

function partOfTable({ createdAt: _, updatedAt: __, ...value }: ValueTableDefinition): Part {
  const label = `table ${value.name}`;
  return { id: undefined, name: label, label, value, stays: true };
}

/** Includes the kind in id and name, because a relation of another kind is a different relation. */
function partOf(relation: Relations['relations'][number]): Part {
  const value = { ...DEFAULTS, ...definitionOf(relation) };
  const label = `${relation.name} [${relation.tag}]`;
  const id = relation.id === undefined ? undefined : `${value.kind} ${relation.id}`;
  return { id, name: `${value.kind} ${label}`, label, value };
}

async function readRelations({
  connection: { relata },
  projectId,
}: ConnectedProject): Promise<Read<Relations>> {
  const document = await relata.relations.export(projectId);
  return { document, tag: JSON.stringify(document) };
}

/** Source: docs/interface §12.1. */
const DEFAULTS = { kind: 'rule', twoWay: false, enabled: true, excludeSameGroup: true };

const DEFINITION = [
  ...['kind', 'name', 'tag', 'description', 'twoWay', 'enabled', 'source', 'target', 'match', 'sort'],
  ...['names', 'excludeSameGroup', 'constraint', 'total', 'operator', 'limit'],
];

function definitionOf(relation: object): RelationDefinition {
  const members = Object.entries(relation).filter(([name]) => DEFINITION.includes(name));
  return Object.fromEntries(members) as RelationDefinition;
}

const ONTOLOGY: DocumentKind<Ontology> = {
  read: async ({ connection: { relata }, projectId }) => {
    const { value, etag } = await relata.ontology.get(projectId);
    return { document: value, tag: etag };
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
  member: 'attributes',
  list: ({ attributes, ...others }) => [
    ...Object.entries(others).map(([name, value]) => ({ id: undefined, name, label: name, value })),
    ...attributes.map(({ id, reason: _, ...attribute }) => ({
      id,
      name: attribute.name,
      label: attribute.name,
      value: attribute,
    })),
  ],
  share: ({ attributes, ...others }) => ({
    ...others,
    attributes: attributes.map(({ id: _, ...attribute }) => attribute),
  }),
};

const KINDS = { relations: RELATIONS, ontology: ONTOLOGY };
export type DocumentName = keyof typeof KINDS;

/** `relata relations` and `relata ontology`, which have the same commands. */
export function documentCommands(name: DocumentName) {
  const kind: DocumentKind<unknown> = KINDS[name];

  async function open(flags: DocumentFlags): Promise<ConnectedProject> {
    const connection = connect(flags);
    return { connection, projectId: await chooseProject(connection) };
  }

  async function prepare(file: string, flags: DocumentFlags) {
    const document = readJson(file, kind.member);
    const project = await open(flags);
    const present = await kind.read(project);
    const plan = compare(kind.list(present.document), kind.list(document));
    const count = plan.created.length + plan.changed.length + plan.deleted.length;
    if (!flags.json) describePlan(plan, count);
    return { plan, count, apply: () => kind.apply(project, document, present.tag) };
  }

  return {
    /** Writes the document to the file; `-` means standard output. */
    async export(file: string, flags: DocumentFlags): Promise<number> {
      const { document } = await kind.read(await open(flags));
      const text = `${JSON.stringify(kind.share(document), null, 2)}\n`;
      if (file === '-') process.stdout.write(text);
      else writeFileSync(file, text);
      return 0;
    },

    /** Shows the changes of `apply`. @returns 1 if there is a difference */
    async plan(file: string, flags: DocumentFlags): Promise<number> {
      const { plan, count } = await prepare(file, flags);
      if (flags.json) print(plan);
      return count > 0 ? 1 : 0;
    },

    /** Replaces the whole list with that of the file. */
    async apply(file: string, flags: DocumentFlags): Promise<number> {
      const { plan, count, apply } = await prepare(file, flags);
      const isRequested =
        count === 0 || flags.yes || !isInteractive() || (await confirm(`Apply this to the ${name}?`));
      if (!isRequested) {
        console.error('Nothing was applied.');
        return 1;
      }
      if (count > 0 && !(await apply())) {
        console.error(
          `Nothing was applied, because the ${name} changed in the meantime: run relata ${name} plan again.`,
        );
        return 1;
      }
      if (flags.json) print(plan);
      return 0;
    },
  };
}

function readJson(file: string, member: string): unknown {
  let document: Record<string, unknown> | null;
  try {
    document = JSON.parse(readFileSync(file === '-' ? 0 : file, 'utf8'));
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${(error as Error).message}`);
  }
  if (Array.isArray(document?.[member])) return document;
  throw new UsageError(`the file must contain {"${member}":[…]}, like an exported file`);
}

/** Compares the parts, which it matches in the same way as the service. */
function compare(present: readonly Part[], sent: readonly Part[]) {
  const { matched, missing } = recognise(sent, present);
  const labelsOf = (parts: readonly Part[]) => parts.map(({ label }) => label);
  return {
    created: labelsOf(sent.filter((_, index) => matched[index] === undefined)),
    changed: labelsOf(
      sent.filter(
        ({ value }, index) => matched[index] !== undefined && write(matched[index].value) !== write(value),
      ),
    ),
    deleted: labelsOf(missing.filter(({ stays }) => stays !== true)),
  };
}

const isEmpty = (member: unknown) =>
  member === null || member === '' || (Array.isArray(member) && member.length === 0);

/** Serialises a value with sorted members and without empty ones, so that equal values have the same text. */
const write = (value: unknown): string =>
  JSON.stringify(value, (_, node) => {
    if (typeof node !== 'object' || node === null || Array.isArray(node)) return node;
    const members = Object.entries(node).filter(([, member]) => !isEmpty(member));
    return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)));
  });

function describePlan({ created, changed, deleted }: ReturnType<typeof compare>, count: number): void {
  for (const name of created) console.log(`+ ${name}`);
  for (const name of changed) console.log(`~ ${name}`);
  for (const name of deleted) console.log(`- ${name}`);
  if (count === 0) console.log('no difference');
}
