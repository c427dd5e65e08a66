/** What a definition chooses by its type, and the options that each has. Source: docs/openapi.json. */
import { type Choice, choices } from '@relata/client';
import { t } from '../languages/text.ts';
import { capital } from './format.ts';
import type { Typed } from './typed.ts';

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
