import { type Choice, choices } from '@relata/client';
import { t } from '../languages/text.ts';
import { capital } from './format.ts';

/** What a definition chooses by its type, and the options that each has. Source: docs/openapi.json. */

export type Kind = keyof typeof choices;

/** Of a label or description in docs/openapi.json: the catalogs of languages have them all. */
export const sayOf = (text: string): string => (text === '' ? '' : t(text));

export const toChoice = <Type extends string>({ type, label }: Pick<Choice<Type>, 'type' | 'label'>) =>
  [type, sayOf(label)] as const;

export const findChoice = (kind: Kind, part: Typed) => choices[kind].find(({ type }) => type === part.type);

export const labelOf = (kind: Kind, part: Typed): string => sayOf(findChoice(kind, part)?.label ?? part.type);

/** @returns the options that have a field each */
export const optionsOf = (kind: Kind, part: Typed) => findChoice(kind, part)?.options ?? [];

export const hintOf = (kind: Kind, part: Typed) => capital(sayOf(findChoice(kind, part)?.description ?? ''));

/** What a required option says first; the others are empty. */
const START: Readonly<Record<string, string>> = { pattern: '*' };

/** @returns one of this type that has all it must have, to be filled in */
export function startTyped(kind: Kind, type: string): Typed {
  const needed = optionsOf(kind, { type }).filter(({ isRequired }) => isRequired);
  return { type, ...Object.fromEntries(needed.map(({ name }) => [name, START[name] ?? ''])) };
}

/** Of a definition each of source, format and trigger: what else it has depends on its type, and forms ask for it by name. */
export type Typed = { readonly type: string } & Readonly<Record<string, unknown>>;

export const valueNamed = (part: Typed, name: string): unknown => part[name];

export const textOf = (part: Typed, name: string): string =>
  part[name] === undefined ? '' : String(part[name]);

/** @returns the part with another value, as typed: the service checks it; an empty one is left out, so that the service finds it out */
export function withOption<Part extends Typed>(part: Part, name: string, value: unknown): Part {
  const { [name]: _, ...others } = part;
  return (value === '' || value === undefined ? others : { ...others, [name]: value }) as Part;
}

/** The same, but an empty value is one: an option is left out only by undefined. */
export const withValue = <Part extends Typed>(part: Part, name: string, value: unknown): Part =>
  value === '' ? { ...part, [name]: value } : withOption(part, name, value);
