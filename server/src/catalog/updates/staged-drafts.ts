import type { Attribute } from '../ontology/ontology.ts';
import type { StagedBatch } from '../port.ts';
import type { ExtractedBy } from './staging.ts';

/** Whether a batch holds values of attributes that the commit creates, and was extracted without them. */
export function isUnseen(
  { observed, extractedBy }: StagedBatch,
  newAttributes: readonly Pick<Attribute, 'name'>[],
): boolean {
  const created = new Set(newAttributes.map(({ name }) => name));
  const seen = new Set((JSON.parse(extractedBy) as ExtractedBy).drafts.map(([name]) => name));
  const met = JSON.parse(observed) as [name: string, unknown][];
  return met.some(([name]) => created.has(name) && !seen.has(name));
}
