import { type Static, type TObject, type TProperties, type TSchema, Type } from 'typebox';
import type { Catalog } from '../catalog/catalog.ts';
import { cutText } from '../kernel/bounded-lines.ts';
import type { Access, ChosenProject } from '../kernel/caller.ts';
import type { Relations } from '../relations/relations.ts';
import type { ProductSearch } from '../search/search.ts';
import type { Tasks } from '../tasks/tasks.ts';

/** The rooms that tools read. No tool changes a catalog. */
export interface ToolParts {
  readonly catalog: Catalog;
  readonly search: ProductSearch;
  readonly relations: Relations;
  readonly tasks: Tasks;
}

/** The caller and the project of a question. */
export interface ToolContext extends ToolParts {
  readonly project: ChosenProject;
  readonly access: Access;
  readonly signal: AbortSignal;
  /** Counts a scan of the whole catalog. @throws too_many_looks */
  limitScans(): void;
}

/** A tool for agents with the schemas of its input and its answer. Source: docs/interface §15. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly access: Access;
  readonly input: TSchema;
  readonly output: TSchema;
  answer(context: ToolContext, input: never): Promise<object>;
}

/** Schemas that several tools share. */
export const Identifier = Type.String({ minLength: 1, maxLength: 255 });
export const NextOffset = Type.Union([Type.Integer(), Type.Null()], {
  description: 'offset of the next page; null on the last page',
});

export const defineTool = <Input extends TProperties, Output extends TProperties>({
  input,
  output,
  ...tool
}: Pick<Tool, 'name' | 'title' | 'description'> & {
  readonly access?: Access;
  readonly input: Input;
  readonly output: Output;
  answer(context: ToolContext, input: Static<TObject<Input>>): Promise<NoInfer<Static<TObject<Output>>>>;
}): Tool => {
  const schemas = { input: Type.Object(input, { additionalProperties: false }), output: Type.Object(output) };
  return { access: 'read', ...tool, ...schemas } as Tool;
};

/**
 * The limit of an answer in tokens. An answer should have fewer than 4,000, and an agent gets it twice:
 * structured and as text. The estimate is an upper one: three ASCII letters are a token, and every other
 * character is one.
 */
export const TOKENS = 1_700;
const LETTERS_PER_TOKEN = 3;
const ASCII = /[\0-\x7f]+/g;

export function countTokens(text: string): number {
  const otherCharacters = text.replace(ASCII, '').length;
  return Math.ceil((text.length - otherCharacters) / LETTERS_PER_TOKEN) + otherCharacters;
}

/** @returns as many items from the start as fit, but at least one */
export function fitPage<Item>(items: readonly Item[], spent = 0): Item[] {
  let left = TOKENS - spent;
  const end = items.findIndex((item) => {
    left -= countTokens(JSON.stringify(item)) + 1;
    return left < 0;
  });
  return items.slice(0, end < 0 ? undefined : Math.max(1, end));
}

/** @returns the items from `offset` on that fit, and the offset of the next page */
export function fitFrom<Item>(items: readonly Item[], offset = 0, spent = 0) {
  const page = fitPage(items.slice(offset), spent);
  const end = offset + page.length;
  return { page, nextOffset: end < items.length ? end : null };
}

const TEXT = 120;
const SHORT = 60;

/** Truncates a text, so that a single product always fits into an answer. */
export const shortenText = (text: string, most: number = TEXT): string =>
  text.length <= most ? text : `${cutText(text, most)}…`;
export const shortenValue = (text: string) => shortenText(text, SHORT);
