import { type Budget, type Operation, Passed } from '../../storage/threads/threads.ts';
import {
  type DraftedAttribute,
  describeCreated,
  describeDefinition,
  draftAttribute,
  joinObservations,
  type Observations,
  type Observed,
} from '../ontology/drafts/drafts.ts';
import { type Attribute, indexByKey, isWaiting } from '../ontology/ontology.ts';
import type { UnitAliases } from '../ontology/units/units.ts';
import type { CatalogSnapshot, CatalogSnapshots, StagedBatch } from '../port.ts';

/**
 * Notes on the batches of a full update: the values of attributes that the ontology does not know, and the
 * definitions that judged all other values. The notes of a batch with new attributes take megabytes, so the serving
 * thread passes them on as bytes.
 */

/** JSON. */
type Json = Uint8Array<ArrayBuffer>;

/** The notes that are stored with a batch, and `joined`, with which the next batch is judged. */
export interface BatchNotes {
  /** As in `StagedBatch`. */
  readonly observed: Json;
  /** As in `StagedBatch`. */
  readonly extractedBy: Json;
  /** The observations of this batch and of the batches before it. */
  readonly joined: Json;
}

export interface StagedUpdate {
  readonly projectId: number;
  readonly fullUpdateId: number;
}

/** The notes of all staged batches, judged by the present ontology. */
export interface JudgedNotes {
  readonly revision: number;
  /** Batches that were extracted with other definitions. */
  readonly unsettled: readonly number[];
  /** The names of the attributes that the full update will create, as a JSON list. */
  readonly names: Json;
  readonly nameCount: number;
  /** The observations from which these attributes are drafted. */
  readonly open: Json;
}

export interface DraftOrder extends Pick<JudgedNotes, 'revision' | 'open'> {
  /** The id of each name, as a JSON list in the same order. */
  readonly ids: Uint8Array;
  readonly locale: string;
}

/** The attributes that a full update creates. */
export interface DraftedNotes {
  /** A JSON list of attributes. */
  readonly drafts: Json;
  /** As `extractedBy` of a batch that these definitions have judged. */
  readonly extractedBy: Json;
  /** NDJSON: a line for each attribute. */
  readonly report: Json;
}

/** The definitions that judged the values of a batch. */
interface ExtractedBy {
  readonly revision: number;
  readonly drafts: readonly (readonly [name: string, definition: string])[];
}

interface OpenNotes {
  readonly unitAliases: UnitAliases | undefined;
  readonly attributes: readonly {
    readonly name: string;
    readonly observed: Observed;
    readonly synonyms?: Attribute['synonyms'];
  }[];
}

export const readNotes = <Notes>(notes: Uint8Array | string): Notes =>
  JSON.parse(typeof notes === 'string' ? notes : Buffer.from(notes).toString());

const writeNotes = (notes: unknown): Json => new TextEncoder().encode(JSON.stringify(notes));

export const readObservations = (notes: Uint8Array | string): Observations =>
  new Map(readNotes<[string, Observed][]>(notes));

interface NotedBatch {
  readonly before: Observations;
  readonly observed: readonly [string, Observed][];
  readonly revision: number;
  readonly drafts: readonly Attribute[];
}

export const describeBatch = ({ before, observed, revision, drafts }: NotedBatch): BatchNotes => ({
  observed: writeNotes(observed),
  extractedBy: describeExtraction(revision, drafts),
  joined: writeNotes([...joinObservations([before, new Map(observed)])]),
});

export const buffersOf = (notes: Readonly<Record<string, unknown>> | BatchNotes): ArrayBuffer[] =>
  Object.values(notes).flatMap((note) => (note instanceof Uint8Array ? (note.buffer as ArrayBuffer) : []));

function describeExtraction(revision: number, drafts: readonly Attribute[]): Json {
  const described = drafts.map((draft) => [draft.name, describeDefinition(draft)] as const);
  return writeNotes({ revision, drafts: described } satisfies ExtractedBy);
}

/** The operations of parsing threads on notes. */
export const noteOperations = (snapshots: CatalogSnapshots): Record<string, Operation> => ({
  async joinNotes(update: StagedUpdate, budget: Budget) {
    const joined = await snapshots.read(update.projectId, budget, async (snapshot) =>
      writeNotes([...joinObservations(await Array.fromAsync(readStaged(snapshot, update), observationsOf))]),
    );
    return new Passed(joined, 0, [joined.buffer]);
  },
  async judgeNotes(update: StagedUpdate, budget: Budget) {
    const judged = await snapshots.read(update.projectId, budget, (snapshot) => judge(snapshot, update));
    return new Passed(judged, 0, buffersOf({ ...judged }));
  },
  draftNotes(order: DraftOrder) {
    const drafted = draft(order);
    return new Passed(drafted, 0, buffersOf({ ...drafted }));
  },
});

const observationsOf = ({ observed }: StagedBatch) => readObservations(observed);

/** Reads one batch after another, because the notes of each may have megabytes. */
async function* readStaged(snapshot: CatalogSnapshot, { fullUpdateId }: StagedUpdate) {
  for (const { batch } of await snapshot.listStagedBatches(fullUpdateId)) {
    const staged = await snapshot.findStagedBatch({ fullUpdateId, batch });
    if (staged !== undefined) yield staged;
  }
}

async function judge(snapshot: CatalogSnapshot, update: StagedUpdate): Promise<JudgedNotes> {
  const { mode, revision, unitAliases, attributes } = await snapshot.readOntology();
  const attributeByKey = indexByKey(attributes);
  let observed: Observations = new Map();
  const unsettled: number[] = [];
  for await (const staged of readStaged(snapshot, update)) {
    if (mode !== 'own') observed = joinObservations([observed, observationsOf(staged)]);
    if (!isSettled(readNotes(staged.extractedBy), revision, attributeByKey)) unsettled.push(staged.batch);
  }
  const open = [...observed].filter(
    ([name]) => isWaiting(attributeByKey.get(name)) || !attributeByKey.has(name),
  );
  const drafted = open.map(([name, observations]) => {
    const { synonyms } = attributeByKey.get(name) ?? {};
    return { name, observed: observations, ...(synonyms && { synonyms }) };
  });
  return {
    revision,
    unsettled,
    names: writeNotes(open.map(([name]) => name)),
    nameCount: open.length,
    open: writeNotes({ unitAliases, attributes: drafted } satisfies OpenNotes),
  };
}

/** Another full update may have created the same attribute from other values, with another definition. */
function isSettled(
  extractedBy: ExtractedBy,
  revision: number,
  attributeByKey: ReadonlyMap<string, Attribute>,
) {
  return (
    extractedBy.revision === revision &&
    extractedBy.drafts.every(([name, definition]) => {
      const attribute = attributeByKey.get(name);
      return attribute === undefined || describeDefinition(attribute) === definition;
    })
  );
}

function draft({ open, ids: idList, locale, revision }: DraftOrder): DraftedNotes {
  const { unitAliases, attributes } = readNotes<OpenNotes>(open);
  const ids = readNotes<number[]>(idList);
  const drafts = attributes.map(({ name, observed, synonyms }, index): DraftedAttribute => {
    const drafted = draftAttribute({ id: ids[index] as number, name }, observed, { locale, unitAliases });
    return { ...drafted, ...(synonyms && { synonyms }) };
  });
  const lines = drafts.map((drafted) => `${JSON.stringify(describeCreated(drafted))}\n`);
  return {
    drafts: writeNotes(drafts),
    extractedBy: describeExtraction(revision, drafts),
    report: new TextEncoder().encode(lines.join('')),
  };
}
