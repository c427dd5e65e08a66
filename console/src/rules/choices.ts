import { type Choice, choices } from '@relata/client';
import { t } from '../languages/text.ts';
import { capital } from './format.ts';

/** The typed parts of definitions, and the options of each type. Source: docs/openapi.json. */

export type Kind = keyof typeof choices;

/** Translates a label or description of docs/openapi.json, all of which are in the message catalogs. */
export const translateLabel = (text: string): string => (text === '' ? '' : t(text));

export const toChoice = <Type extends string>({ type, label }: Pick<Choice<Type>, 'type' | 'label'>) =>
  [type, translateLabel(label)] as const;

export const findChoice = (kind: Kind, part: Typed) => choices[kind].find(({ type }) => type === part.type);

export const labelOf = (kind: Kind, part: Typed): string =>
  translateLabel(findChoice(kind, part)?.label ?? part.type);

/** @returns the options that have a field each */
export const optionsOf = (kind: Kind, part: Typed) => findChoice(kind, part)?.options ?? [];

export const hintOf = (kind: Kind, part: Typed) =>
  capital(translateLabel(findChoice(kind, part)?.description ?? ''));

/** Initial values of required options; others start empty. */
const START: Readonly<Record<string, string>> = { pattern: '*' };

/** @returns a part of this type with all required options, to be filled in */
export function startTyped(kind: Kind, type: string): Typed {
  const required = optionsOf(kind, { type }).filter(({ isRequired }) => isRequired);
  return { type, ...Object.fromEntries(required.map(({ name }) => [name, START[name] ?? ''])) };
}

/** The source, format or trigger of a definition: its other members depend on its type and are read by name. */
export type Typed = { readonly type: string } & Readonly<Record<string, unknown>>;

export const valueNamed = (part: Typed, name: string): unknown => part[name];

export const textOf = (part: Typed, name: string): string =>
  part[name] === undefined ? '' : String(part[name]);

/** @returns the part with an option as typed; empty ones are left out, so that the service reports them */
export function withOption<Part extends Typed>(part: Part, name: string, value: unknown): Part {
  const { [name]: _, ...others } = part;
  return (value === '' || value === undefined ? others : { ...others, [name]: value }) as Part;
}

/** The same, except that an empty value is kept; only undefined leaves the option out. */
export const withValue = <Part extends Typed>(part: Part, name: string, value: unknown): Part =>
  value === '' ? { ...part, [name]: value } : withOption(part, name, value);
