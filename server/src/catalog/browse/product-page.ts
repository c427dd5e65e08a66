import { type Tasks, toWireTask, type WireTask } from '../../tasks/tasks.ts';
import {
  type Attribute,
  describeNotExtracted,
  indexByKey,
  type Ontology,
  readValue,
} from '../ontology/ontology.ts';
import type { AnsweredProduct, CatalogStore } from '../port.ts';
import type { AttributeValue, UploadedProduct } from '../products/products.ts';
import { computeValueId } from '../products/products.ts';

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
  readonly tasks: Tasks;
}

/** @returns undefined for a product that is not there */
export async function readProductPage(
  { store, tasks }: ProductPageParts,
  projectId: number,
  identifier: string,
) {
  const stored = await store.findProduct(projectId, identifier);
  if (stored === undefined) return undefined;
  const ontology = await store.getOntology(projectId);
  const task = await tasks.findByNumber(projectId, stored.updatedBy);
  const lastChange: LastChange = { at: stored.updatedAt, task: task === undefined ? null : toWireTask(task) };
  return { ...describeProduct(stored, ontology), lastChange };
}

interface LastChange {
  readonly at: number;
  /** null: it was forgotten since (§10.5). */
  readonly task: WireTask | null;
}

function describeProduct(stored: AnsweredProduct, ontology: Ontology) {
  const upload = JSON.parse(stored.raw) as UploadedProduct;
  const product = JSON.parse(
    `{"id":${stored.id},${stored.answer},"lastUpdateTs":${stored.updatedAt}}`,
  ) as object;
  const known = indexByKey(ontology.attributes);
  const values = upload.attributes.map((value) => describeValue(value, known.get(value.key)));
  const notExtracted = values.flatMap(({ key, value, attribute, code, message }) =>
    code === undefined || message === undefined
      ? []
      : [{ attribute: attribute ?? key, value, code, message }],
  );
  return { product, upload, values, notExtracted };
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
