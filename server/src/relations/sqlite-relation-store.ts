import { readCatalogVersion } from '../catalog/catalog.ts';
import type {
  ByteCache,
  CacheSpace,
  CatalogFile,
  CatalogFiles,
  Operation,
  ThreadPool,
} from '../storage/storage.ts';
import type { Relation } from './relation.ts';
import type { Frame, RelationStore } from './relation-port.ts';
import type { RelateInput, RelateOutput } from './relation-reader.ts';
import {
  bindRelations,
  buildPage,
  deleteRelation,
  dropBuilds,
  findRelation,
  listRelations,
  listUnbuilt,
  saveRelation,
} from './relation-store.ts';

export interface SqliteRelationParts {
  /** Those of the serving thread. */
  readonly files: CatalogFiles;
  /** Threads that write; one project's writes run one after another. */
  readonly writers: ThreadPool;
  /** Threads that answer relations. */
  readonly readers: ThreadPool;
  readonly cache: ByteCache;
}

const LISTED_PROJECTS = 1_000;

/** What the writing threads do for relations. */
export function relationWriterOperations(files: CatalogFiles): Record<string, Operation> {
  const write =
    <Input, Output>(work: (file: CatalogFile, input: Input) => Output) =>
    ({ projectId, input }: { projectId: number; input: Input }) => ({
      output: work(files.open(projectId), input),
    });
  return {
    bindRelations: write(bindRelations),
    buildRelationPage: write(buildPage),
    deleteRelation: write(deleteRelation),
    dropRelationBuilds: write(dropBuilds),
    saveRelation: write(saveRelation),
  };
}

/** The embedded store: relations lie in the catalog's file, read by threads of their own, written by the writers. */
export function createSqliteRelationStore({
  files,
  writers,
  readers,
  cache,
}: SqliteRelationParts): RelationStore {
  const write = <Output>(operation: string, projectId: number, input: object) =>
    writers.run<Output>(operation, { projectId, input }, { key: projectId });
  const read = <Output>(operation: string, input: { readonly projectId: number } & object) =>
    readers.run<Output>(operation, input, { key: input.projectId, unordered: true });
  const answers = createKeptAnswers(cache);

  const listed = new Map<number, { version: number; relations: readonly Relation[] }>();

  /** Every request for related products asks for them; they change with the catalog's version. */
  function list(projectId: number): readonly Relation[] {
    const file = files.open(projectId);
    const version = readCatalogVersion(file);
    const known = listed.get(projectId);
    if (known?.version === version) return known.relations;
    const relations = listRelations(file);
    if (listed.size >= LISTED_PROJECTS) listed.clear();
    listed.set(projectId, { version, relations });
    return relations;
  }

  return {
    list: async (projectId) => list(projectId),
    find: async (projectId, id) => findRelation(files.open(projectId), id),
    save: (projectId, saved) => write('saveRelation', projectId, saved),
    listUnbuilt: async (projectId) => listUnbuilt(files.open(projectId)),
    remove: (projectId, id) => write('deleteRelation', projectId, { id }),
    bind: (projectId) => write('bindRelations', projectId, {}),
    buildPage: (projectId, page) => write('buildRelationPage', projectId, page),
    dropBuilds: (projectId) => write('dropRelationBuilds', projectId, {}),
    tryDefinition: (projectId, definition) => read('tryRelation', { projectId, ...{ definition } }),
    survey: (projectId, id) => read('surveyRelation', { projectId, ...{ id } }),
    explain: (wanted) => read('explainRelation', wanted),
    async relate(wanted, frame) {
      const version = readCatalogVersion(files.open(wanted.projectId));
      const { labels, space, places } = answers.find(wanted, version);
      if (!places.includes(-1)) return joinKept(space, places, { labels, frame });
      // Taken out now: what is read and kept meanwhile may push it out.
      const kept = Array.from(places, (place) => (place < 0 ? undefined : copyOut(space, place)));
      const missing = wanted.identifiers.filter((_, at) => kept[at] === undefined);
      const input: RelateInput = { ...wanted, identifiers: missing };
      const found = splitAnswers(await read<RelateOutput>('relate', input));
      answers.keep(input, found);
      let next = 0;
      const parts = kept.map((bytes) => bytes ?? (found.answers[next++] as Uint8Array));
      const joined = labels.flatMap((label, at) => [label, parts[at] as Uint8Array]);
      return Buffer.concat([Buffer.from(frame.head), ...joined, Buffer.from(frame.tail)]);
    },
  };
}

function copyOut(space: CacheSpace, place: number): Uint8Array {
  space.mark(place, 1);
  const bytes = new Uint8Array(space.lengthAt(place));
  space.copy(place, bytes, 0);
  return bytes;
}

/** What stands before the answer of each product: in the bulk form its identifier, and a comma from the second on. */
function describeLabels({ identifiers, form }: RelateInput): Buffer[] {
  return identifiers.map((identifier, at) =>
    Buffer.from(form === 'bulk' ? `${at > 0 ? ',' : ''}${JSON.stringify(identifier)}:` : ''),
  );
}

function joinKept(
  space: CacheSpace,
  places: Int32Array,
  { labels, frame: { head, tail } }: { labels: readonly Buffer[]; frame: Frame },
): Buffer {
  let length = head.length + tail.length;
  for (const [at, label] of labels.entries()) length += label.length + space.lengthAt(places[at] as number);
  const joined = Buffer.allocUnsafe(length);
  let end = joined.write(head, 'latin1');
  for (const [at, label] of labels.entries()) {
    end += label.copy(joined, end);
    space.mark(places[at] as number, 1);
    end += space.copy(places[at] as number, joined, end);
  }
  joined.write(tail, end, 'latin1');
  return joined;
}

function splitAnswers({ version, bytes, ends }: RelateOutput) {
  const answers = Array.from(ends, (end, at) => bytes.subarray(at === 0 ? 0 : ends[at - 1], end));
  return { version, answers };
}

/** Requests that ask the same of other products share their number: the kept answers are of a request and a product. */
const KEPT_SIGNATURES = 10_000;

function createKeptAnswers(cache: ByteCache) {
  const signatures = new Map<string, number>();
  let lastNumber = 0;

  function numberOf({ tags, form, explain, brandAttribute }: RelateInput): number {
    const signature = JSON.stringify([tags, form, explain, brandAttribute]);
    const known = signatures.get(signature);
    if (known !== undefined) return known;
    if (signatures.size >= KEPT_SIGNATURES) signatures.clear();
    lastNumber += 1;
    signatures.set(signature, lastNumber);
    return lastNumber;
  }

  const spaceOf = ({ projectId }: RelateInput, version: number): CacheSpace =>
    cache.of(`relations of ${projectId}`, version);

  return {
    find(wanted: RelateInput, version: number) {
      const number = numberOf(wanted);
      const space = spaceOf(wanted, version);
      const keys = wanted.identifiers.map((identifier) => `${number} ${identifier}`);
      return { labels: describeLabels(wanted), space, places: space.findAll(keys) };
    },
    keep(wanted: RelateInput, { version, answers }: ReturnType<typeof splitAnswers>): void {
      const number = numberOf(wanted);
      const space = spaceOf(wanted, version);
      for (const [at, identifier] of wanted.identifiers.entries()) {
        space.keep(`${number} ${identifier}`, answers[at] as Uint8Array);
      }
    },
  };
}
