import type {
  Image,
  SentAttributes,
  SentCategory,
  SentPartialValue,
  SentPatch,
  SentProduct,
  SentValue,
} from './schemas/schemas.ts';

/** An uploaded product, with default values and its fields in a fixed order. Source: docs/interface §2.3. */
export interface UploadedProduct {
  readonly identifier: string;
  readonly groupIdentifier: string;
  readonly name: string;
  readonly productUrl: string;
  readonly images: readonly Image[];
  readonly categories: readonly UploadedCategory[];
  readonly attributes: readonly AttributeValue[];
  readonly settings?: ProductSettings;
}

/** Sent fields, without null values. */
type Given<Value> = { readonly [Field in keyof Value]: NonNullable<Value[Field]> };
type UploadedCategory = Given<SentCategory>;
export type AttributeValue = Given<SentValue>;

interface ProductSettings {
  readonly includeUserGroups?: readonly string[];
  readonly excludeUserGroups?: readonly string[];
}

/** @returns the product in the form that is stored and hashed */
export function normaliseProduct(sent: SentProduct): UploadedProduct {
  const settings = readSettings(sent.settings);
  return {
    identifier: sent.identifier,
    groupIdentifier: sent.groupIdentifier ?? sent.identifier,
    name: sent.name ?? '',
    productUrl: sent.productUrl ?? '',
    images: readImages(sent),
    categories: (sent.categories ?? []).map(readCategory),
    attributes: readValues(sent.attributes ?? []),
    ...(settings && { settings }),
  };
}

/** `image` becomes the first image, with the type LARGE. Source: docs/interface §2.3. */
function readImages({ image, images }: Pick<SentProduct, 'image' | 'images'>): Image[] {
  const listed = (images ?? []).map(({ url, type }) => ({ url, type }));
  return typeof image === 'string' ? [{ url: image, type: 'LARGE' }, ...listed] : listed;
}

function readCategory({ path, priority, categoryId }: SentCategory): UploadedCategory {
  if (typeof priority !== 'number' && typeof categoryId !== 'number') return { path };
  return {
    path,
    ...(typeof priority === 'number' && { priority }),
    ...(typeof categoryId === 'number' && { categoryId }),
  };
}

/** Uses a loop and not a chain, because this runs for every attribute of every product. */
function readValues(sent: readonly SentValue[]): AttributeValue[] {
  const values: AttributeValue[] = [];
  for (const { key, value, userGroups, row } of sent) {
    if (value === null) continue;
    const plain = userGroups ? { key, value, userGroups } : { key, value };
    values.push(row === null || row === undefined ? plain : { ...plain, row });
  }
  return values;
}

function readSettings(sent: SentProduct['settings']): ProductSettings | undefined {
  if (!sent || !('includeUserGroups' in sent || 'excludeUserGroups' in sent)) return undefined;
  const { includeUserGroups, excludeUserGroups } = sent;
  if (!includeUserGroups && !excludeUserGroups) return undefined;
  return { ...(includeUserGroups && { includeUserGroups }), ...(excludeUserGroups && { excludeUserGroups }) };
}

/**
 * Changes only the sent fields. A top-level field is replaced as a whole. All values of a named attribute are
 * replaced, at the position of the first. Source: docs/interface §4.3.
 */
export function patchProduct(present: UploadedProduct, patch: SentPatch): UploadedProduct {
  const settings = patch.settings ? readSettings(patch.settings) : present.settings;
  const hasImages = typeof patch.image === 'string' || Boolean(patch.images);
  return {
    identifier: present.identifier,
    groupIdentifier: patch.groupIdentifier ?? present.groupIdentifier,
    name: patch.name ?? present.name,
    productUrl: patch.productUrl ?? present.productUrl,
    images: hasImages ? readImages(patch) : present.images,
    categories: patch.categories ? patch.categories.map(readCategory) : present.categories,
    attributes: patch.attributes ? patchValues(present.attributes, patch.attributes) : present.attributes,
    ...(settings && { settings }),
  };
}

/** Merges several changes of one product in a request, in their order. Source: docs/interface §4.3 rule 4. */
export function mergePatches(first: SentPatch, second: SentPatch): SentPatch {
  const sent = Object.entries(second).filter(([, value]) => value !== null);
  const merged = { ...first, ...Object.fromEntries(sent) } as SentPatch;
  if (!first.attributes || !second.attributes) return merged;
  return { ...merged, attributes: { ...byKey(first.attributes), ...byKey(second.attributes) } };
}

/** @returns the attributes in the form of an object, for any names */
const byKey = (sent: SentAttributes): Record<string, SentPartialValue[]> =>
  Object.fromEntries(
    groupPatches(sent)
      .entries()
      .map(([key, values]) => [key, values.map(({ key: _, ...value }) => value)]),
  );

function patchValues(present: readonly AttributeValue[], sent: SentAttributes): readonly AttributeValue[] {
  const patches = groupPatches(sent);
  const placed = new Set<string>();
  const patched = present.flatMap((value) => {
    const replacement = patches.get(value.key);
    if (replacement === undefined) return [value];
    if (placed.has(value.key)) return [];
    placed.add(value.key);
    return readValues(replacement);
  });
  const added = [...patches].flatMap(([key, values]) => (placed.has(key) ? [] : readValues(values)));
  return [...patched, ...added];
}

/** Groups the values by key. A key without values removes the attribute. */
function groupPatches(sent: SentAttributes): Map<string, SentValue[]> {
  if (Array.isArray(sent)) return Map.groupBy(sent as readonly SentValue[], ({ key }) => key);
  const entries = Object.entries(sent as Record<string, SentPartialValue | SentPartialValue[]>);
  return new Map(
    entries.map(([key, sentValue]) => [key, [sentValue].flat().map((value) => readPatchValue(key, value))]),
  );
}

function readPatchValue(key: string, sentValue: SentPartialValue): SentValue {
  if (sentValue === null || typeof sentValue === 'string') return { key, value: sentValue };
  return { ...sentValue, key };
}

/**
 * @returns the category with the smallest priority, or the first if no category has one. Source: docs/interface §12.5
 * rule 7
 */
export function mainCategory<
  Category extends Pick<UploadedCategory, 'path'> & { priority?: number | undefined },
>(categories: readonly Category[]): Category | undefined {
  let [main] = categories;
  for (const category of categories) {
    if ((category.priority ?? Infinity) < (main?.priority ?? Infinity)) main = category;
  }
  return main;
}

/** @returns the first LARGE image, otherwise the first image. Source: docs/interface §12.5 rule 8 */
export const mainImage = (images: readonly Image[]): Image | undefined =>
  images.find(({ type }) => type === 'LARGE') ?? images[0];

const SMALL = ['THUMB', 'SMALL'];

/**
 * @returns the image for lists: the first THUMB or SMALL image, otherwise the main image. Source: docs/interface
 * §14.3 rule 4
 */
export const smallImage = (images: readonly Image[]): Image | undefined =>
  images.find(({ type }) => SMALL.includes(type)) ?? mainImage(images);
