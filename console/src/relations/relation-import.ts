import type { Relation, RelationDefinition } from '@relata/client';
import { t } from '../languages/text.ts';

type Imported = RelationDefinition & { readonly id?: number };

export interface ImportEffect {
  readonly changed: number;
  readonly created: number;
  readonly deleted: readonly Relation[];
}

/** @returns the relations of an exported document. @throws Error that says what to correct */
export function readImport(text: string): Imported[] {
  const relations = (parse(text) as { relations?: unknown } | null)?.relations;
  if (!Array.isArray(relations))
    throw new Error(t('The file is not an export of relations: it has no list "relations".'));
  return relations;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(t('The file is not JSON: {message}', { message: (error as Error).message }));
  }
}

/**
 * Predicts an import in the order of the service: each entry changes the relation with its id, or else the
 * first with its name and tag. Source: docs/interface §12.1 rule 4.
 */
export function foreseeImport(present: readonly Relation[], imported: readonly Imported[]): ImportEffect {
  const left = new Map(present.map((relation) => [relation.id, relation]));
  let created = 0;
  for (const { id, name, tag } of imported) {
    const isSame = (relation: Relation) => relation.name === name && relation.tag === tag;
    const existing = id !== undefined && left.has(id) ? id : [...left.values()].find(isSame)?.id;
    if (existing === undefined) created += 1;
    else left.delete(existing);
  }
  return { created, changed: imported.length - created, deleted: [...left.values()] };
}
