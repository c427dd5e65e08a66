import type { Relata, SentOntology } from '@relata/client';

/**
 * Called right after a change of the ontology.
 * @returns what puts the former one back; it is refused with 412 once something else has changed the ontology
 */
export async function undoOntology(relata: Relata, projectId: number, former: SentOntology) {
  const { etag } = await relata.ontology.get(projectId);
  return () => relata.ontology.put(projectId, former, etag ? { ifMatch: etag } : {});
}
