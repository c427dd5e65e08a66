/** What a definition chooses by its type, and the options that each has. Source: docs/openapi.json. */
import { type Choice, choices } from '@relata/client';
import { capital } from './format.ts';
import type { Typed } from './typed.ts';

export type Kind = keyof typeof choices;

export const toChoice = <Type extends string>({ type, label }: Choice<Type>) => [type, label] as const;

export const findChoice = (kind: Kind, part: Typed) => choices[kind].find(({ type }) => type === part.type);

/** @returns the options that have a field each */
export const optionsOf = (kind: Kind, part: Typed) => findChoice(kind, part)?.options ?? [];

export const hintOf = (kind: Kind, part: Typed) => capital(findChoice(kind, part)?.description ?? '');

/** What a required option says first; the others are empty. */
const START: Readonly<Record<string, string>> = { pattern: '*' };

/** @returns one of this type that has all it must have, to be filled in */
export function startTyped(kind: Kind, type: string): Typed {
  const needed = optionsOf(kind, { type }).filter(({ isRequired }) => isRequired);
  return { type, ...Object.fromEntries(needed.map(({ name }) => [name, START[name] ?? ''])) };
}
