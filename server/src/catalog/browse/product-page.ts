import { ServiceError } from '../../kernel/errors.ts';
import { countPassed, type Operation } from '../../storage/threads/threads.ts';
import { type Tasks, toWireTask, type WireTask } from '../../tasks/tasks.ts';
import {
  AnswerWriter,
  type Attribute,
  describeNotExtracted,
  indexByKey,
  readValue,
} from '../ontology/ontology.ts';
import type { CatalogSnapshots, CatalogStore, FoundProduct } from '../port.ts';
import { type AttributeValue, computeValueId, type UploadedProduct } from '../products/products.ts';

/** Uploads that the serving thread describes: about 5 ms. A larger one is described by another thread. */
const AT_ONCE_BYTES = 128 * 1024;

/** The details of one product. Source: docs/interface.md §14.3. */

/** An uploaded value with its extracted fact. */
export interface DescribedValue extends AttributeValue {
  /** Of the ontology; null: it does not know the key. */
  readonly attribute: string | null;
  readonly fact: DescribedFact | null;
  /** Why there is no fact (§4.7 rule 9). */
  readonly code?: string;
  readonly message?: string;
}

interface DescribedFact {
  readonly attributeId: number;
  readonly valueId: number;
  readonly type: string;
  /** The number of a numeric value, in the attribute's unit. */
  readonly number?: number;
  readonly unit?: string;
}

export interface ProductPageParts {
  readonly store: CatalogStore;
  readonly scans: PageScans;
  readonly tasks: Tasks;
}

export interface PageOrder {
  readonly projectId: number;
  readonly identifier: string;
}

/** A page without its last change, and what that was. */
export interface MadePage extends Pick<FoundProduct, 'updatedAt' | 'updatedBy'> {
  /** JSON without its closing brace. */
  readonly bytes: Uint8Array<SharedArrayBuffer>;
}

/** The thread that describes large products, as the serving thread sees it. */
export interface PageScans {
  /** @returns undefined for a product that is not there */
  makePage(order: PageOrder, signal: AbortSignal): Promise<MadePage | undefined>;
}

/** @returns a page, or the bytes of a large one; undefined for a product that is not there */
export async function readProductPage(
  { store, scans, tasks }: ProductPageParts,
  { projectId, identifier }: PageOrder,
  signal: AbortSignal,
) {
  const findChange = async ({ updatedAt, updatedBy }: Omit<MadePage, 'bytes'>): Promise<LastChange> => {
    const task = await tasks.findByNumber(projectId, updatedBy);
    return { at: updatedAt, task: task === undefined ? null : toWireTask(task) };
  };
  const [measured] = await store.measureDocuments(projectId, [identifier]);
  if (measured === undefined) return undefined;
  if (measured.bytes > AT_ONCE_BYTES) {
    const made = await scans.makePage({ projectId, identifier }, signal);
    if (made === undefined) return undefined;
    countPassed(made.bytes.length);
    return [made.bytes, Buffer.from(`,"lastChange":${JSON.stringify(await findChange(made))}}`)];
  }
  const found = await store.findProduct(projectId, identifier);
  return found && { ...describeProduct(projectId, found), lastChange: await findChange(found) };
}

/** What the scanning thread can do. */
export function pageOperations(snapshots: CatalogSnapshots): Record<string, Operation> {
  return {
    makePage: async (order: PageOrder) => {
      const output = await makePage(snapshots, order);
      return { output, sharedBytes: output?.bytes.length ?? 0 };
    },
  };
}

const makePage = (
  snapshots: CatalogSnapshots,
  { projectId, identifier }: PageOrder,
): Promise<MadePage | undefined> =>
  snapshots.read(projectId, async (snapshot) => {
    const found = await snapshot.findProduct(identifier);
    if (found === undefined) return undefined;
    const page = Buffer.from(JSON.stringify(describeProduct(projectId, found)).slice(0, -1));
    const bytes = new Uint8Array(new SharedArrayBuffer(page.length));
    bytes.set(page);
    return { bytes, updatedAt: found.updatedAt, updatedBy: found.updatedBy };
  });

interface LastChange {
  readonly at: number;
  /** null: it was forgotten since (§10.5). */
  readonly task: WireTask | null;
}

/** @throws catalog_damaged */
function describeProduct(projectId: number, found: FoundProduct) {
  const { id, raw, updatedAt, ontology } = found;
  if (raw === null) throw new ServiceError('catalog_damaged', { values: [projectId] });
  const upload = JSON.parse(raw) as UploadedProduct;
  const product = JSON.parse(`{"id":${id},${writeAnswer(found)},"lastUpdateTs":${updatedAt}}`) as object;
  const known = indexByKey(ontology.attributes);
  const values = upload.attributes.map((value) => describeValue(value, known.get(value.key)));
  const notExtracted = values.flatMap(({ key, value, attribute, code, message }) =>
    code === undefined || message === undefined
      ? []
      : [{ attribute: attribute ?? key, value, code, message }],
  );
  return { product, upload, values, notExtracted };
}

/** @returns JSON of what lookups answer of a product, without id and time */
export function writeAnswer({ raw, ontology, categories }: FoundProduct): string {
  const writer = new AnswerWriter(ontology.attributes, (path) => categories.get(path));
  writer.begin();
  return writer.write(Buffer.from(raw ?? '')).toString();
}

function describeValue(uploaded: AttributeValue, attribute: Attribute | undefined): DescribedValue {
  if (attribute === undefined) {
    const message = 'the ontology does not know this attribute';
    return { ...uploaded, attribute: null, fact: null, code: 'attribute_unknown', message };
  }
  const { id, name, type, unitName } = attribute;
  const read = readValue(uploaded.value, attribute);
  if (read.kind === 'none') {
    const message = describeNotExtracted(read.why, attribute);
    return { ...uploaded, attribute: name, fact: null, code: read.why, message };
  }
  const number = read.kind === 'number' && { number: read.number, ...(unitName && { unit: unitName }) };
  const fact = { attributeId: id, valueId: computeValueId(id, uploaded.value), type, ...number };
  return { ...uploaded, attribute: name, fact };
}
