/** Where the value of a field comes from. Source: docs/interface.md §15.2. */
import { mainCategory, mainImage, type UploadedProduct } from '../../catalog/catalog.ts';

export type FieldSource =
  | { readonly attribute: string }
  | { readonly field: OwnField }
  | { readonly constant: string }
  | { readonly template: string }
  | { readonly expression: string };

/** By the name of the format's field, in the order of the columns. */
export type ChannelMapping = Readonly<Record<string, FieldSource>>;

const NONE: readonly string[] = [];
const one = (text: string | undefined): readonly string[] => (text ? [text] : NONE);
const joinPath = (path: readonly string[]) => path.join(' > ');

/** What every product has beside attributes. */
export const OWN_FIELDS = {
  identifier: ({ identifier }) => [identifier],
  groupIdentifier: ({ groupIdentifier }) => one(groupIdentifier),
  name: ({ name }) => one(name),
  productUrl: ({ productUrl }) => one(productUrl),
  image: ({ images }) => one(mainImage(images)?.url),
  images: ({ images }) => images.map(({ url }) => url),
  additionalImages({ images }) {
    const main = mainImage(images);
    return images.filter((image) => image !== main).map(({ url }) => url);
  },
  category: ({ categories }) => one(mainCategory(categories)?.path.at(-1)),
  categoryPath({ categories }) {
    const main = mainCategory(categories);
    return main === undefined ? NONE : [joinPath(main.path)];
  },
  categories: ({ categories }) => categories.map(({ path }) => joinPath(path)),
} satisfies Record<string, (product: UploadedProduct) => readonly string[]>;

export type OwnField = keyof typeof OWN_FIELDS;

/** A text between names in braces; `{{` and `}}` are braces. */
export type TemplatePart = { readonly text: string } | { readonly name: string };

const PART = /\{\{|\}\}|\{([^{}]+)\}|[^{}]+|[{}]/g;

/** @returns undefined where a brace stands alone */
export function readTemplate(template: string): TemplatePart[] | undefined {
  const parts: TemplatePart[] = [];
  for (const [found, name] of template.matchAll(PART)) {
    if (found === '{' || found === '}') return undefined;
    parts.push(
      name === undefined ? { text: found === '{{' || found === '}}' ? found.charAt(0) : found } : { name },
    );
  }
  return parts;
}

/** @returns the names that a source takes from attributes; one of a template may be a field that every product has */
export function* listNames(source: FieldSource): Generator<{ name: string; mayBeOwn: boolean }> {
  if ('attribute' in source) yield { name: source.attribute, mayBeOwn: false };
  if (!('template' in source)) return;
  for (const part of readTemplate(source.template) ?? [])
    if ('name' in part) yield { name: part.name, mayBeOwn: true };
}
